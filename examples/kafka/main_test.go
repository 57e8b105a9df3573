package main

func Example() {
	main()
	// Output:
	// 1000 payments handled, each account's in order, 100 of them at their second attempt
}
