package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

var errMadeAnew = errors.New("the topic was deleted, or deleted and created again: what was read of it counts no more")

// madeAnew notes that a topic is not the one that the member joined for, and says so once: a running client never finds its
// way to the new one. The caller holds r.mu.
func (r *receiver) madeAnew(topic string) {
	if r.stale != nil || r.closed {
		return
	}
	r.stale = fmt.Errorf("topic %s: %w", topic, errMadeAnew)
	r.b.log.Error("a topic was deleted, or deleted and created again: what its old form held is gone, and a new member joins for the new one",
		"topic", topic, "group", r.group)
	r.nudge()
}

// watch compares the topics with what they were when the member joined. It is the way to learn of a topic that is gone and has
// not come back: a poll just stays empty.
func (r *receiver) watch(ctx context.Context) {
	r.mu.Lock()
	m := r.member
	r.mu.Unlock()
	for name, id := range m.topics {
		t, err := r.b.find(ctx, name)
		if driver.ClassOf(err) == driver.NotFound && err != nil || err == nil && t.id != id {
			r.mu.Lock()
			if !m.retired {
				r.madeAnew(name)
			}
			r.mu.Unlock()
			return
		}
	}
}

// rejoin replaces the member. Until the topics exist again its error is of class NotFound.
func (r *receiver) rejoin(ctx context.Context, why error) error {
	r.mu.Lock()
	old := r.member
	old.retired = true
	var sources []*driver.Source
	for _, e := range old.epochs {
		sources = append(sources, &e.Source)
	}
	r.mu.Unlock()
	r.lose(old, old.all(), sources, why)
	if err := r.join(ctx); err != nil {
		return fmt.Errorf("join group %s anew: %w", r.group, err)
	}
	r.wg.Go(func() { _ = old.close(context.Background()) }) // it may have to wait for its last answers
	return nil
}
