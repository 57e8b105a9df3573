package processes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/ops"
)

const (
	// reportMost bounds the report of one process, and reportTakes the time of all.
	reportMost  = 16 << 20
	reportTakes = 2 * time.Second
	// reportFresh is how old reports may be.
	reportFresh = time.Second
	// processesMost bounds the processes that are asked: a name of DNS may have many addresses.
	processesMost = 200
)

// Options are the options of New. The zero value asks nobody.
type Options struct {
	// Addresses are those at which processes serve [ops.Workers], such as 10.0.0.7:8080/workers. A name of DNS stands
	// for all of its addresses, and @FILE for the addresses in a file.
	Addresses []string
	// Own are the consumers of this process. Set it so that they are reported as well. nil: it has none.
	Own *ops.Workers
}

// Processes are processes that report what their consumers hold. It is safe for concurrent use.
type Processes struct {
	addresses []string
	own       *ops.Workers
	client    *http.Client
	busy      chan struct{} // has an element while somebody asks
	at        time.Time     // of the last answers
	last      atomic.Pointer[Reports]
}

// Reports are what processes answered. They are not changed any more.
type Reports struct {
	All      []ops.WorkersReport // by host and process id
	Problems []error             // about each process that did not report
}

// New reads the list of addresses, some of which may be files of others. It makes no request.
func New(o *Options) (*Processes, error) {
	opts := *cmp.Or(o, &Options{})
	p := &Processes{
		own: opts.Own, busy: make(chan struct{}, 1),
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	for _, address := range opts.Addresses {
		file, isFile := strings.CutPrefix(address, "@")
		if !isFile {
			p.addresses = append(p.addresses, address)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the addresses of workers: %w", err)
		}
		p.addresses = append(p.addresses, strings.Fields(string(text))...)
	}
	for i, address := range p.addresses {
		if !strings.Contains(address, "://") {
			p.addresses[i] = "http://" + address
		}
		if u, err := url.Parse(p.addresses[i]); err != nil || u.Hostname() == "" || u.Scheme != "http" &&
			u.Scheme != "https" {
			return nil, fmt.Errorf("the address of a process is %q: use one such as 10.0.0.7:8080/workers", address)
		}
	}
	return p, nil
}

// None reports whether no process can report.
func (p *Processes) None() bool { return p.own == nil && len(p.addresses) == 0 }

// Last returns the last answers without asking again; nil: there are none yet.
func (p *Processes) Last() *Reports { return p.last.Load() }

// Ask asks all processes, unless they were asked within the last second.
func (p *Processes) Ask(ctx context.Context) *Reports {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	case <-ctx.Done():
		return &Reports{Problems: []error{context.Cause(ctx)}}
	}
	if last := p.last.Load(); last != nil && time.Since(p.at) < reportFresh {
		return last
	}
	ctx, cancel := context.WithTimeout(ctx, reportTakes)
	defer cancel()
	r := &Reports{}
	if p.own != nil {
		r.All = append(r.All, p.own.Report(true))
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, u := range p.resolve(ctx) {
		asking.Go(func() {
			one, err := p.one(ctx, u)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				r.Problems = append(r.Problems, fmt.Errorf("%s does not report: %w", u.Host, err))
				return
			}
			r.All = append(r.All, *one)
		})
	}
	asking.Wait()
	slices.SortFunc(r.All, func(a, b ops.WorkersReport) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID))
	})
	slices.SortFunc(r.Problems, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	p.at = time.Now()
	p.last.Store(r)
	return r
}

// resolve returns an address for each process: a name of DNS has one for each of its addresses.
func (p *Processes) resolve(ctx context.Context) (all []*url.URL) {
	for _, address := range p.addresses {
		u, err := url.Parse(address)
		if err != nil {
			continue // New has parsed it
		}
		q := u.Query()
		q.Set("stacks", "")
		u.RawQuery = q.Encode()
		hosts, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
		if err != nil || u.Scheme == "https" || len(hosts) < 2 { // a certificate is of the name
			all = append(all, u)
			continue
		}
		for _, host := range hosts {
			one := *u
			if one.Host = host; u.Port() != "" {
				one.Host = net.JoinHostPort(host, u.Port())
			}
			all = append(all, &one)
		}
	}
	return all[:min(len(all), processesMost)]
}

// one asks one process.
func (p *Processes) one(ctx context.Context, u *url.URL) (*ops.WorkersReport, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers with %s", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, reportMost+1))
	if err != nil {
		return nil, err
	}
	var report ops.WorkersReport
	if len(text) > reportMost {
		return nil, errors.New("its report is too large")
	}
	return &report, json.Unmarshal(text, &report)
}
