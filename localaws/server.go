package localaws

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/access"
	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/cloudwatch"
	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3"
	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sts"
	"github.com/godwitmq/godwit/localaws/tagging"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Options configure a Server. The zero value has the default of each field.
type Options struct {
	// Account is the number of the account of callers whose access key is not an account's number, twelve digits; "":
	// 000000000000. Set it when a program compares ARNs.
	Account string
	// Region is the region of requests that are not signed, of seeds that name none, and of what Server's methods
	// return; "": us-east-1. Set it to the region of most clients.
	Region string
	// SingleRegion makes every request work in Region, whatever it is signed for; false: as on AWS, in the region that
	// it is signed for. Set it for clients whose regions differ by mistake.
	SingleRegion bool
	// Seed determines everything random: ids, receipt handles, chaos. Set it to repeat a run, as tests do. 0: a random
	// seed, which [Server.Seed] returns, so that a server does not repeat the ids of an earlier one.
	Seed uint64
	// Logger gets what the server logs; nil: nothing is logged. Set it to find out why a client fails.
	Logger *slog.Logger
	// RealisticWaits enforces AWS's waits: 60 s between two purges of a queue, and before the name of a deleted queue
	// can be used again; 15 minutes before CloudWatch has the first metrics of a queue that was created or has slept.
	// Set it to test a program that purges or deletes queues, or reads their metrics.
	RealisticWaits bool
	// LenientPolicies delivers to queues that have no policy, and lets callers of other accounts do what no policy of a
	// queue or topic denies, as other emulators do; false: as on AWS, a queue gets nothing from a topic or a bucket
	// that its policy does not allow, and callers of other accounts may do what it allows. Set it while you move from
	// such an emulator; the log says once what AWS would refuse. A queue that has a policy gets no other deliveries.
	LenientPolicies bool
	// Requests gets one line for each call from a socket: its action, resource, status and time, and its account and
	// region if they are not those of the options; nil: none. Set it to see what a client does.
	Requests *slog.Logger
	// Control decides about calls that no function of [Server.Control] decided; nil: they are not affected. Set it for
	// latency and failures that last: Reset removes the functions of Server.Control, and not this one.
	Control func(context.Context, *Request) Outcome
	// Scripts returns the scripts that run at the start of the process, and whether all have ended, for tools that ask
	// /_localstack/init; nil: there are none. It may be called concurrently.
	Scripts func() (all []Script, ready bool)
	// Stop is called for POST /_localaws/stop; nil: this page does not exist. Set it to end a process by its address.
	Stop func()
	// Endpoints carries SNS's deliveries to http and https endpoints; nil: a transport of the server's own, which
	// connects only to what AllowEndpoints says. Set it to receive them in the process.
	Endpoints http.RoundTripper
	// AllowHosts are names that the header Host of a request may have, or be below, in addition to addresses,
	// localhost, names below it and names without dots. Set it when clients reach the server by another name; other
	// names are refused, because a web page can give its own name the address of this machine.
	AllowHosts []string
	// AllowOrigins are the origins, such as http://localhost:3000, whose pages may call the server. Set it for a web
	// application that uses AWS from the browser; the pages of every other origin are refused.
	AllowOrigins []string
	// AllowEndpoints are host names, and ranges of addresses such as 172.17.0.0/16, to which SNS delivers in addition
	// to this machine. Set it when a subscribed endpoint runs on another machine or in a container. Link-local
	// addresses, where clouds have the credentials of their machines, are always refused.
	AllowEndpoints []string
	// Store keeps what the server acknowledges, so that a later server with the same store continues where this one
	// ended, also when its process was killed; nil: everything is in memory, and lost with the server. Set it to what
	// disk.Open of package localaws/disk returns, and close it after the server.
	Store keep.Store
}

// Server is an AWS with all its accounts and regions. It is safe for concurrent use.
type Server struct {
	opts       Options
	clock      *clock.Clock
	places     *places
	carrier    *sns.Carrier
	leniency   *access.Leniency // nil: policies are strict
	s3         *s3.Service
	mux        *wire.Mux
	rest       *rest.Mux
	s3control  *rest.Mux
	own        *http.ServeMux
	inspection *wire.Mux // of /_aws/sqs/messages
	admission  admission
	controls   controls
	calls      calls
	keeping    keeping

	mu        sync.Mutex
	closed    bool
	listeners []*listener
	planted   []string // seed files
}

// New returns a running server. nil options are the defaults.
func New(o *Options) (*Server, error) {
	s := &Server{clock: clock.New()}
	s.opts = *cmp.Or(o, &Options{})
	s.opts.Account = cmp.Or(s.opts.Account, "000000000000")
	s.opts.Region = cmp.Or(s.opts.Region, "us-east-1")
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	for s.opts.Seed == 0 {
		var drawn [8]byte
		_, _ = rand.Read(drawn[:]) // never fails
		s.opts.Seed = binary.NativeEndian.Uint64(drawn[:])
	}
	if !wire.IsAccount(s.opts.Account) {
		return nil, fmt.Errorf("localaws: Options.Account %q is not twelve digits", s.opts.Account)
	}
	if !wire.IsRegion(s.opts.Region) {
		return nil, fmt.Errorf("localaws: Options.Region %q is not of the form us-east-1", s.opts.Region)
	}
	var err error
	if s.admission, err = newAdmission(s.opts); err != nil {
		return nil, err
	}
	s.controls = controls{always: s.opts.Control, clock: s.clock, ended: make(chan struct{})}
	endpoints, err := sns.NewEndpoints(s.opts.AllowEndpoints)
	if err != nil {
		return nil, fmt.Errorf("localaws: Options.AllowEndpoints: %w", err)
	}
	if err := s.keeping.load(s.opts.Store, s.clock, s.opts.Logger); err != nil {
		return nil, err
	}
	s.build(endpoints)
	if err := s.keeping.restore(s.places.in); err != nil {
		return nil, errors.Join(fmt.Errorf("localaws: Options.Store: %w", err), s.Close())
	}
	return s, nil
}

func (s *Server) build(endpoints *sns.Endpoints) {
	source := random.New(s.keeping.seed(s.opts.Seed))
	home := wire.Home{
		Place: wire.Place{Account: s.opts.Account, Region: s.opts.Region}, SingleRegion: s.opts.SingleRegion,
	}
	s.carrier = sns.NewCarrier(sns.CarrierOptions{
		Clock: s.clock, Logger: s.opts.Logger, HTTP: s.opts.Endpoints, Endpoints: endpoints,
	})
	if s.opts.LenientPolicies {
		s.leniency = access.NewLeniency(s.opts.Logger)
	}
	bounds := &cloudwatch.Bounds{}
	s.places = newPlaces(home, bounds, s.opts.Logger, func(at wire.Place) *services {
		return s.newServices(at, source, bounds)
	})
	s.s3 = s3.New(s3.Options{
		Account: s.opts.Account, Region: s.opts.Region, Clock: s.clock, Random: source,
		Destinations: destinationsOfBuckets{s}, Logger: s.opts.Logger,
		Store: s.opts.Store, Epoch: s.keeping.start.Epoch, Kept: s.keeping.buckets(),
	})
	forREST := rest.Options{
		Account: s.opts.Account, Region: s.opts.Region, SingleRegion: s.opts.SingleRegion, Random: source,
		Around: s.around, Now: s.clock.Now,
		Exists:  func(name string) bool { return s.s3.Bucket(name) != nil },
		Domains: []string{"localhost", "localaws", inProcess},
	}
	s.rest, s.s3control = rest.NewMux(forREST, s.s3.Wire()), rest.NewMux(forREST, s.s3.Control())
	options := wire.Options{
		Account: s.opts.Account, Region: s.opts.Region, SingleRegion: s.opts.SingleRegion, Random: source,
	}
	s.inspection = wire.NewMux(options, sqs.Inspection(s.places.sqsOf))
	options.Around = s.around
	s.mux = wire.NewMux(options, s.wired(source)...)
	s.own = ownRoutes(s)
}

// wired returns the services for the wire. Each chooses the place of a call.
func (s *Server) wired(source *random.Source) []*wire.Service {
	return []*wire.Service{
		sqs.Wire(s.places.sqsOf), sns.Wire(s.places.snsOf), cloudwatch.Wire(s.places.cloudwatchOf),
		sts.New(sts.Options{Home: s.places.home, Random: source, Now: s.clock.Now}).Wire(),
		tagging.New(
			s.places.tagged(func(in *services) map[string]map[string]string { return in.sqs.Tagged() }),
			s.places.tagged(func(in *services) map[string]map[string]string { return in.sns.Tagged() }),
			s.places.tagged(func(in *services) map[string]map[string]string { return in.cloudwatch.Tagged() }),
		).Wire(),
	}
}

// newServices returns the services of a place, without resources.
func (s *Server) newServices(at wire.Place, source *random.Source, bounds *cloudwatch.Bounds) *services {
	made := &services{at: at}
	wake := func() { made.cloudwatch.Wake() }
	queues, topics := &queueMetrics{clock: s.clock, wake: wake}, &topicMetrics{wake: wake}
	if s.opts.RealisticWaits {
		queues.delay = wakeDelay
	}
	made.sqs = sqs.New(sqs.Options{
		Clock: s.clock, Random: source, Account: at.Account, Region: at.Region,
		Home: s.opts.Region, SingleRegion: s.opts.SingleRegion,
		AtHome: func(name string) bool {
			return s.places.hasQueue(wire.Place{Account: at.Account, Region: s.opts.Region}, name)
		},
		Logger: s.opts.Logger, RealisticWaits: s.opts.RealisticWaits, Leniency: s.leniency,
		Woken: queues.woken, Missing: func(name string) { s.places.missQueue(at, name) },
		Store: s.opts.Store, Epoch: s.keeping.start.Epoch, Window: s.keeping.window,
	})
	made.sns = sns.New(sns.Options{
		Account: at.Account, Region: at.Region, Clock: s.clock, Random: source, Queues: queuesOfTopics{s},
		Store:  s.opts.Store,
		Logger: s.opts.Logger, Carrier: s.carrier, Leniency: s.leniency, Woken: topics.woken,
		Others:  func() []*sns.Service { return s.places.othersIn(at) },
		Missing: func(arn string) { s.places.missTopic(at, arn) },
	})
	topics.collect = made.sns.Collect
	made.cloudwatch = cloudwatch.New(cloudwatch.Options{
		Account: at.Account, Region: at.Region, Clock: s.clock, Logger: s.opts.Logger,
		Topics: topicsOfAlarms{s}, Sources: []cloudwatch.Source{queues, topics}, Store: s.opts.Store,
		Bounds: bounds,
	})
	return made
}

// SQS returns the model of SQS in the account and region of the options, for inspecting queues without receiving, and
// for chaos. In returns that of other places.
func (s *Server) SQS() *sqs.Service { return s.places.main.sqs }

// SNS returns the model of SNS in the account and region of the options, for inspecting topics, subscriptions and
// failed deliveries. In returns that of other places.
func (s *Server) SNS() *sns.Service { return s.places.main.sns }

// S3 returns the model of S3, of all places, for inspecting buckets and objects.
func (s *Server) S3() *s3.Service { return s.s3 }

// CloudWatch returns the model of CloudWatch in the account and region of the options, for inspecting metrics and
// alarms. In returns that of other places.
func (s *Server) CloudWatch() *cloudwatch.Service { return s.places.main.cloudwatch }

// In returns the place of an account in a region, for inspecting it. What is no account, or no name of a region, stands
// for that of the options, as in signatures.
func (s *Server) In(account, region string) *Place {
	return &Place{server: s, at: s.places.home.Caller(account, region)}
}

// Places returns every place in which there was a call, and that of the options, by account and region.
func (s *Server) Places() []*Place {
	var all []*Place
	for _, p := range s.places.all() {
		all = append(all, &Place{server: s, at: p.at})
	}
	return all
}

// Seed returns the number that determines everything random: Options.Seed, or the number that New chose. A server with
// the same seed repeats the run.
func (s *Server) Seed() uint64 { return s.opts.Seed }

// Now returns the server's time.
func (s *Server) Now() time.Time { return s.clock.Now() }

// Advance moves the server's clock by d, at most to clock.Furthest ahead of the machine's. When it returns, everything
// that became due has happened, in order. Polls that it wakes answer in their own goroutines. A Store keeps the time.
func (s *Server) Advance(d time.Duration) {
	s.clock.Advance(d)
	s.keeping.write()
	s.keeping.settle(s.opts.Logger)
}

// Reset removes every resource, of all places, and every control, and sets every count to zero. The clock is unchanged.
func (s *Server) Reset() {
	s.controls.reset()
	s.places.reset()
	s.s3.Reset()
	s.leniency.Reset()
	s.calls.reset()
	s.keeping.settle(s.opts.Logger)
}

// Handler returns the handler of every service, and of the server's own pages under /_localaws/, for an http.Server. It
// refuses what web pages send, see Options.AllowHosts and Options.AllowOrigins.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requestLog{s.opts.Requests, s.places.home.Place}.handle(w, r, func(w http.ResponseWriter, r *http.Request) {
			if s.admission.admit(w, r, s.refuse) {
				s.serve(w, r)
			}
		})
	})
}

// serve answers a request that was admitted.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case isOwn(r.URL.Path):
		serveOwn(s, w, r)
	case localstack{s}.has(r):
		localstack{s}.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, sns.CertificatePrefix):
		s.carrier.ServeCertificate(w, r)
	case isS3Control(r):
		s.s3control.ServeHTTP(w, r)
	case isS3(r):
		s.rest.ServeHTTP(w, r)
	case absentService(r) != "":
		refuseService(w, absentService(r))
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// refuse answers with 403 in the form that the client of the request can read.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, reason error) {
	switch {
	case isOwn(r.URL.Path):
		refuse(w, http.StatusForbidden, "%v", reason)
	case isS3Control(r), isS3(r):
		s.rest.Refuse(w, r, rest.Refuse(http.StatusForbidden, "AccessDenied", reason.Error()))
	default:
		s.mux.Refuse(w, r, &wire.Error{
			Code: "AccessDeniedException", Query: "AccessDenied", Status: http.StatusForbidden, Message: reason.Error(),
		})
	}
}

// Close ends waiting polls, closes what Listen opened, and returns when no goroutine of the server runs any more.
// In-process calls still work afterwards, but do not wait.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	listeners := s.listeners
	s.listeners = nil
	s.mu.Unlock()
	s.controls.close()
	s.places.close()
	s.carrier.Close()
	s.controls.stranded.Wait()
	s.s3.Close()
	var first error
	for _, l := range listeners {
		first = cmp.Or(first, l.close(s.opts.Logger))
	}
	s.clock.Close()
	return first
}
