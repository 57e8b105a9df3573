package main

func Example() {
	main()
	// Output:
	// ada wants a kite
	// bob made it true for ada
}
