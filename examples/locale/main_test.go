package main

func Example() {
	main()
	// Output:
	// Guten Tag, Ada
	// Bonjour, Blaise
	// Hello, Charles
}
