package ops

import "sync"

// inParallel calls do with each index below n, at most so many at the same time, and returns when all calls have
// returned.
func inParallel(n, atOnce int, do func(i int)) {
	var wg sync.WaitGroup
	tokens := make(chan struct{}, atOnce)
	for i := range n {
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			do(i)
		})
	}
	wg.Wait()
}
