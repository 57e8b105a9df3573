package bodies

import "sync"

// groupAtOnce is how many calls of one group are made at the same time.
const groupAtOnce = 4

// Group makes several calls of a store, a few at the same time. Its methods are for one goroutine.
type Group struct {
	wg     sync.WaitGroup
	tokens chan struct{}
}

// Go makes a call in a goroutine, when one of the earlier ones has ended.
func (g *Group) Go(call func()) {
	if g.tokens == nil {
		g.tokens = make(chan struct{}, groupAtOnce)
	}
	g.tokens <- struct{}{}
	g.wg.Go(func() {
		defer func() { <-g.tokens }()
		call()
	})
}

// Wait waits for all calls.
func (g *Group) Wait() { g.wg.Wait() }
