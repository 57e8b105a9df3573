package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
)

// listener notes what it is told, and calls the session back while it listens.
type listener struct {
	Observer
	f     *flow
	heard []string
}

func (l *listener) hear(s string) {
	l.f.lock() // nobody is told anything under the lock
	l.f.unlock()
	l.heard = append(l.heard, s)
}

func (l *listener) Doing(a Activity)             { l.hear(fmt.Sprint("doing ", a)) }
func (l *listener) Breaker(open bool, err error) { l.hear(fmt.Sprint("breaker ", open)) }
func (l *listener) LeaseLost(owner any)          { l.hear(fmt.Sprint("lost ", owner)) }
func (l *listener) Released(owner any)           { l.hear(fmt.Sprint("released ", owner)) }
func (l *listener) Rejected(owner any, _ *driver.Death, err error) {
	l.hear(fmt.Sprint("rejected ", owner, " ", err))
}

// What happens under the lock is told after it is released, also when the item is used again by then; changes of the
// breaker and of the activity are told in their order.
func TestWhatIsToldAfterTheLock(t *testing.T) {
	f := bare(driver.ReceiveLimits{}, &Config{})
	l := &listener{f: f}
	f.talk.obs = l
	it := &Item{use: use{Owner: "first"}}
	f.lock()
	f.talk.about(it, Observer.LeaseLost)
	f.talk.about(it, func(o Observer, owner any) { o.Rejected(owner, nil, errors.New("bad")) })
	it.Owner = "second"
	f.talk.about(it, Observer.Released)
	f.talk.breaker(true, nil)
	kind{}.to(t, f, kind{}.arrive(f), running)
	f.talk.breaker(false, nil)
	if len(l.heard) > 0 {
		t.Errorf("told under the lock: %v", l.heard)
	}
	f.unlock()
	want := fmt.Sprintf("lost first, rejected first bad, released second, breaker true, breaker false, doing %v", ActivityProcessing)
	if got := strings.Join(l.heard, ", "); got != want {
		t.Errorf("told %s; want %s", got, want)
	}
	l.heard = nil
	f.lock()
	f.unlock()
	if len(l.heard) > 0 {
		t.Errorf("told again: %v", l.heard)
	}
}
