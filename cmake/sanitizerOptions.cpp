// What AddressSanitizer asks for its options; the environment's ASAN_OPTIONS go over them.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }
