// Lets spin.go declare a function whose body is in the runtime.
