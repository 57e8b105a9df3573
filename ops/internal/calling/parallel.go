package calling

import "sync"

// AtOnce is how many calls to the service one operation makes at the same time.
const AtOnce = 8

// InParallel calls do with each index below n, AtOnce of them at the same time, and returns when all calls have
// returned.
func InParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	tokens := make(chan struct{}, AtOnce)
	for i := range n {
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			do(i)
		})
	}
	wg.Wait()
}
