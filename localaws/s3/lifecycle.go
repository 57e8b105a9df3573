package s3

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

func httpTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

// expiration returns the header that says when an object expires; "": it does not.
func expiration(set *bucket.Settings, o *bucket.Object) string {
	at, rule, ok := set.Expiry(o)
	if !ok {
		return ""
	}
	return fmt.Sprintf(`expiry-date="%s", rule-id="%s"`, httpTime(at), url.PathEscape(rule))
}

// arm sets the alarm of the next midnight if a bucket has a lifecycle, and removes it if none has.
func (s *Service) arm() {
	needed := false
	for _, b := range s.store.Buckets() {
		needed = needed || len(b.Settings().Lifecycle) > 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || !needed:
		s.sleep()
	case s.stop == nil:
		now := s.opts.Clock.Now()
		next := bucket.Midnight(now.Add(1))
		s.stop = s.opts.Clock.AfterFunc(next.Sub(now), s.midnight)
	}
}

// sleep removes the alarm. The caller holds the lock.
func (s *Service) sleep() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// midnight ends what the lifecycles end, and sets the next alarm.
func (s *Service) midnight() {
	s.mu.Lock()
	s.stop = nil
	s.mu.Unlock()
	now := s.opts.Clock.Now()
	for _, b := range s.store.Buckets() {
		for _, gone := range b.Sweep(now) {
			s.log.Info("s3: the lifecycle has expired an object", "bucket", b.Name(), "key", gone.Key)
			s.notifyRemoved(nil, b, "LifecycleExpiration:Delete", gone)
		}
	}
	s.arm()
}
