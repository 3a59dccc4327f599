/* A tool, of which all is in the compiler's library. */
int RECUR_TOOL(int argc, char **argv);
int main(int argc, char **argv) { return RECUR_TOOL(argc, argv); }
