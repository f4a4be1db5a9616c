int main(void) { return 0; } /* asked of a compiler: whether it has OpenMP */
