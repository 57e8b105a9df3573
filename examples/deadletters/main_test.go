package main

func Example() {
	main()
	// Output:
	// a kite for customer 4711 was rejected on orders
	// permanent: no such customer, said packing at attempt 1
}
