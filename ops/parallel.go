package ops

import "sync"

// callsAtOnce is how many calls to the service one operation makes at the same time.
const callsAtOnce = 8

// inParallel calls do with each index below n, callsAtOnce of them at the same time, and returns when all calls have
// returned.
func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	tokens := make(chan struct{}, callsAtOnce)
	for i := range n {
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			do(i)
		})
	}
	wg.Wait()
}
