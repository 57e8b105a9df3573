package main

func Example() {
	main()
	// Output:
	// early shift: job 0
	// early shift: job 1
	// late shift: job 2
	// late shift: job 3
	// late shift: job 4
}
