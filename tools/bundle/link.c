/* What the small programs are linked with in place of the library, which has the name that it has in packages. */
int recur_main_recurc(int argc, char **argv) { return argc + !argv; }
int recur_main_recur_lsp_server(int argc, char **argv) { return argc + !argv; }
