package cloudwatch

import (
	"cmp"
	"log/slog"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Options are what a Service needs. Account, Region and Clock are required.
type Options struct {
	Account string
	Region  string
	Clock   *clock.Clock
	Topics  Topics       // nil: alarms publish nothing
	Sources []Source     // report metrics of other services
	Logger  *slog.Logger // nil: nothing is logged
	Store   keep.Store   // where metrics and alarms are kept; nil: in memory alone
	Bounds  *Bounds      // shared with the services of other places; nil: its own
}

// Topics is the part of SNS that alarms need.
type Topics interface {
	// Publish publishes an alarm's message, if the topic's policy allows it.
	Publish(topicARN, alarmARN, subject, message string) error
}

// Source reports metrics of another service.
type Source interface {
	// Collect returns what happened in the minute that ends at a time, and reports whether it has to be called again
	// in the next minute. A source that sleeps is called again after [Service.Wake].
	Collect(end time.Time) (samples []metric.Sample, awake bool)
}

// Service is the model of CloudWatch in one place. It is safe for concurrent use.
type Service struct {
	opts    Options
	log     *slog.Logger
	metrics *metric.Store
	minutes ticker
	short   ticker // for alarms with a period below a minute

	mu     sync.Mutex
	alarms map[string]*metricAlarm // by name
}

// New returns a service without metrics and alarms.
func New(o Options) *Service {
	o.Bounds = cmp.Or(o.Bounds, &Bounds{})
	s := &Service{
		opts: o, log: o.Logger, metrics: metric.NewStore(&o.Bounds.metrics), alarms: map[string]*metricAlarm{},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	keepMetrics(s)
	s.minutes.init(o.Clock, s.tick)
	s.short.init(o.Clock, s.shortTick)
	return s
}

// Wire returns the service for package wire, whatever place a call is for.
func (s *Service) Wire() *wire.Service {
	return Wire(func(*wire.Call) (*Service, error) { return s, nil })
}

// Reset removes every metric and every alarm.
func (s *Service) Reset() {
	s.mu.Lock()
	for _, a := range s.alarms {
		a.forget(&s.opts)
	}
	s.alarms = map[string]*metricAlarm{}
	s.mu.Unlock()
	s.metrics.Reset()
}

// Close stops the tick. Everything else continues to work.
func (s *Service) Close() {
	s.minutes.close()
	s.short.close()
}

// Wake makes sources be called at the next whole minute. It is cheap, and may be called with any lock held that
// Collect does not take.
func (s *Service) Wake() { s.minutes.start(time.Minute) }
