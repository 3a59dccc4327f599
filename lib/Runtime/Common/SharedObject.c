/* What a shared object that recurc links has beside the runtime: the parts of the C library that compilers add to each
 * shared object from files of their own, which a machine without a toolchain does not have. Not part of
 * librecur_runtime: a compiler that links that adds its own. */
#define HIDDEN __attribute__((visibility("hidden")))

int __cxa_atexit(void (*function)(void *), void *argument, void *object);
void __cxa_finalize(void *object);
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);

/* Its address says which object a function belongs to. */
HIDDEN void *__dso_handle = (void *)&__dso_handle;

static void call(void *function) { ((void (*)(void))function)(); }

HIDDEN int atexit(void (*function)(void)) { return __cxa_atexit(call, (void *)function, (void *)&__dso_handle); }

HIDDEN int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  return __register_atfork(prepare, parent, child, (void *)&__dso_handle);
}

/* Calls what atexit took, before the object is unloaded, and forgets what pthread_atfork took. */
__attribute__((destructor)) static void finish(void) { __cxa_finalize((void *)&__dso_handle); }
