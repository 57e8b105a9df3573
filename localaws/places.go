package localaws

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/godwitmq/godwit/localaws/cloudwatch"
	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/tagging"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Place is an account in a region. Its queues, topics, metrics and alarms are not those of another place.
type Place struct {
	server *Server
	at     wire.Place
}

// Account returns the number of the account.
func (p *Place) Account() string { return p.at.Account }

// Region returns the name of the region.
func (p *Place) Region() string { return p.at.Region }

// SQS returns the model of SQS in this place, until the next Reset of the server.
func (p *Place) SQS() *sqs.Service { return p.server.places.in(p.at).sqs }

// SNS returns the model of SNS in this place, until the next Reset of the server.
func (p *Place) SNS() *sns.Service { return p.server.places.in(p.at).sns }

// CloudWatch returns the model of CloudWatch in this place, until the next Reset of the server.
func (p *Place) CloudWatch() *cloudwatch.Service { return p.server.places.in(p.at).cloudwatch }

// services are the services of one place.
type services struct {
	at         wire.Place
	sqs        *sqs.Service
	sns        *sns.Service
	cloudwatch *cloudwatch.Service
}

func (s *services) reset() {
	s.sns.Reset()
	s.sqs.Reset()
	s.cloudwatch.Reset()
}

// places holds the services of every place. They are built for the first call in the place. It is safe for concurrent
// use.
type places struct {
	home   wire.Home
	main   *services // of home
	build  func(wire.Place) *services
	strays strays
	bounds *cloudwatch.Bounds

	mu     sync.RWMutex
	others map[wire.Place]*services
	closed bool
}

// maxPlaces bounds the memory of places, a few KiB each, that a client makes by signing for places of any name.
const maxPlaces = 4096

func newPlaces(home wire.Home, bounds *cloudwatch.Bounds, log *slog.Logger, build func(wire.Place) *services) *places {
	return &places{
		home: home, bounds: bounds, main: build(home.Place), build: build, strays: strays{log: log},
		others: map[wire.Place]*services{},
	}
}

// find returns the services of a place, or nil if there was no call in it.
func (p *places) find(at wire.Place) *services {
	if at == p.home.Place {
		return p.main
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.others[at]
}

// in returns the services of a place.
func (p *places) in(at wire.Place) *services {
	s, _ := p.add(at, false)
	return s
}

// add returns the services of a place. If it is bounded, and there are too many places, ok is false.
func (p *places) add(at wire.Place, bounded bool) (s *services, ok bool) {
	if s := p.find(at); s != nil {
		return s, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.others[at]; s != nil {
		return s, true
	}
	if bounded && len(p.others) >= maxPlaces {
		return nil, false
	}
	s = p.build(at)
	if p.closed {
		s.cloudwatch.Close()
		s.sqs.Close()
	}
	p.others[at] = s
	return s, true
}

// named returns the services of the place that an ARN names. If there are none, it returns those of the options' place,
// where nothing has this ARN.
func (p *places) named(arn string) *services {
	if at, ok := wire.PlaceOf(arn); ok {
		if s := p.find(at); s != nil {
			return s
		}
	}
	return p.main
}

// of returns the services for a call: of the resource's place, or, if nothing is there, of the caller's. A call that is
// not signed makes no place.
func (p *places) of(c *wire.Call, resource wire.Place) (*services, error) {
	if s := p.find(resource); s != nil {
		return s, nil
	}
	if c.Caller == "" {
		empty := p.build(resource)
		empty.cloudwatch.Close()
		empty.sqs.Close()
		return empty, nil
	}
	s, ok := p.add(c.Place(), true)
	if !ok {
		return nil, &wire.Error{
			Code: "OverLimit", Status: http.StatusForbidden,
			Message: fmt.Sprintf("This server has resources in %d accounts and regions, and makes no more for %s. "+
				"POST /_localaws/reset empties it.", maxPlaces, c.Place()),
		}
	}
	return s, nil
}

// all returns the services of every place, by account and region.
func (p *places) all() []*services {
	p.mu.RLock()
	defer p.mu.RUnlock()
	all := make([]*services, 0, 1+len(p.others))
	all = append(all, p.main)
	for _, s := range p.others {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *services) int { return a.at.Compare(b.at) })
	return all
}

// reset empties every place, and forgets those that are not the options'.
func (p *places) reset() {
	p.mu.Lock()
	old := p.others
	p.others = map[wire.Place]*services{}
	p.mu.Unlock()
	p.strays.reset()
	p.main.reset()
	for _, s := range old {
		s.reset()
		s.cloudwatch.Close()
	}
}

// close stops what the services do by themselves.
func (p *places) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	all := p.all()
	for _, s := range all {
		s.cloudwatch.Close()
	}
	for _, s := range all {
		s.sns.Close()
		s.sqs.Close()
	}
}

// hasQueue reports whether a place has a queue with a name.
func (p *places) hasQueue(at wire.Place, name string) bool {
	in := p.find(at)
	return in != nil && in.sqs.Queue(name) != nil
}

func (p *places) sqsOf(c *wire.Call) (*sqs.Service, error) {
	s, err := p.of(c, c.Resource())
	if err != nil {
		return nil, err
	}
	return s.sqs, nil
}

func (p *places) snsOf(c *wire.Call) (*sns.Service, error) {
	s, err := p.of(c, c.Resource())
	if err != nil {
		return nil, err
	}
	return s.sns, nil
}

// cloudwatchOf returns the service of the caller: CloudWatch's resources belong to nobody else.
func (p *places) cloudwatchOf(c *wire.Call) (*cloudwatch.Service, error) {
	s, err := p.of(c, c.Place())
	if err != nil {
		return nil, err
	}
	return s.cloudwatch, nil
}

// othersIn returns SNS of the other accounts in a region.
func (p *places) othersIn(at wire.Place) []*sns.Service {
	var others []*sns.Service
	for _, other := range p.all() {
		if other.at.Region == at.Region && other.at.Account != at.Account {
			others = append(others, other.sns)
		}
	}
	return others
}

// tagged returns a function that lists the resources with tags of a place. of returns those of its services, by ARN.
func (p *places) tagged(of func(*services) map[string]map[string]string) func(wire.Place) []tagging.Resource {
	return func(at wire.Place) (all []tagging.Resource) {
		if in := p.find(at); in != nil {
			for arn, tags := range of(in) {
				all = append(all, tagging.Resource{ARN: arn, Tags: tags})
			}
		}
		return all
	}
}

// seeded returns the services of a place in a seed file.
func (p *places) seeded(named seedPlace) (*services, error) {
	at := wire.Place{Account: cmp.Or(named.Account, p.home.Account), Region: cmp.Or(named.Region, p.home.Region)}
	switch {
	case !wire.IsAccount(at.Account):
		return nil, fmt.Errorf("account %q is not twelve digits", at.Account)
	case !wire.IsRegion(at.Region):
		return nil, fmt.Errorf("region %q is not of the form us-east-1", at.Region)
	case p.home.SingleRegion && at.Region != p.home.Region:
		return nil, fmt.Errorf("region %q: the server has the single region %s", at.Region, p.home.Region)
	}
	return p.in(at), nil
}
