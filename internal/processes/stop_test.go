package processes_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

var (
	stops = flag.Int("stops", fullrun.Pick(10, 100), "how many processes are stopped, for each kind of channel")
	kills = flag.Int("kills", fullrun.Pick(5, 40), "how many processes are killed, for each kind of channel")
)

// Processes that are stopped in the middle of the traffic, beside busy ones, leave nothing in flight. Nothing is lost,
// handled twice, out of order or dead.
func TestStops(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered %v", ordered), func(t *testing.T) {
			s := newScene(t, ordered, 30*time.Second)
			if ordered { // polls wait; without order, a stop then waits for its poll
				s.ahead = keys
			}
			s.busy(fullrun.Pick(0, 2))
			s.run(*stops, func(w *worker) {
				if stranded := w.stop(); len(stranded) > 0 {
					t.Errorf("%s has left %q in flight", w.name, stranded)
				}
			}, false)
		})
	}
}

// Processes that are killed lose nothing, and keep the order.
func TestKills(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered %v", ordered), func(t *testing.T) {
			newScene(t, ordered, 3*time.Second).run(*kills, (*worker).kill, true)
		})
	}
}

// run ends n workers in the middle of the traffic, starts others in their places, and checks what has become of the
// messages.
func (s *scene) run(n int, end func(w *worker), kills bool) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	sent := make(chan int, 1)
	go func() { sent <- s.produce(ctx) }()
	var all [workers]*worker
	for i := range all {
		all[i] = s.start()
	}
	for range n {
		s.await(1 + s.random.IntN(50))
		i := s.random.IntN(workers)
		end(all[i])
		all[i] = s.start()
	}
	cancel()
	total := <-sent
	if err := s.queue("orders").Await(s.Context(), func(st queue.Stats) bool { return st.Total() == 0 }); err != nil {
		s.Fatal(err)
	}
	for _, w := range all { // they are idle, and a stop without order would wait for an open poll
		w.kill()
	}
	s.check(total, kills)
}
