/* A library whose log() is no logarithm, and with -DPLUGIN the plug-in that calls it. Returns 7. */
#ifdef PLUGIN
int log(int value);
int work(void) { return log(3); }
#else
int log(int value) { return value + 4; }
#endif
