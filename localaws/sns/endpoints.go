package sns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Endpoints says where SNS delivers over HTTP. Everyone who can call the server can subscribe an endpoint, and every
// endpoint gets the messages of its topic from this machine's network. So the address that a connection is made to is
// checked, not the name, which may mean another address the next moment.
type Endpoints struct {
	names  []string
	ranges []netip.Prefix
}

// NewEndpoints parses host names and ranges of addresses to which SNS delivers in addition to this machine. A single
// address is a range, too.
func NewEndpoints(allowed []string) (*Endpoints, error) {
	e := &Endpoints{}
	for _, text := range allowed {
		if r, err := netip.ParsePrefix(text); err == nil {
			e.ranges = append(e.ranges, r.Masked())
			continue
		}
		if a, err := netip.ParseAddr(text); err == nil {
			e.ranges = append(e.ranges, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
			continue
		}
		if text == "" || strings.ContainsAny(text, "/:*@ ") {
			return nil, fmt.Errorf("%q is neither a host name nor a range of addresses such as 172.17.0.0/16", text)
		}
		e.names = append(e.names, strings.ToLower(strings.TrimSuffix(text, ".")))
	}
	return e, nil
}

// errEndpoint is the reason of a delivery that was not tried.
type errEndpoint struct{ address string }

func (e *errEndpoint) Error() string {
	return fmt.Sprintf("SNS delivers to this machine only, and the endpoint's address is %s. To let it deliver there, allow "+
		"the endpoint: Options.AllowEndpoints, godwit local --allow-endpoint. Link-local addresses are never allowed",
		e.address)
}

// check returns an error if SNS may not connect to an address that a host name means. address has a port.
func (e *Endpoints) check(host, address string) error {
	text, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return err
	}
	a = a.Unmap().WithZone("")
	named := slices.Contains(e.names, strings.ToLower(strings.TrimSuffix(host, ".")))
	within := slices.ContainsFunc(e.ranges, func(r netip.Prefix) bool { return r.Contains(a) })
	switch {
	case a.IsLinkLocalUnicast(), a.IsMulticast(), a.IsUnspecified():
		return &errEndpoint{a.String()}
	case a.IsLoopback(), named, within:
		return nil
	}
	return &errEndpoint{a.String()}
}

const (
	dialTimeout = 10 * time.Second
	idleTimeout = 90 * time.Second
)

// transport returns a carrier that connects only to allowed addresses. It ignores HTTP_PROXY, because a proxy would
// connect to any.
func (e *Endpoints) transport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			dialer := net.Dialer{
				Timeout: dialTimeout,
				Control: func(_, dialled string, _ syscall.RawConn) error { return e.check(host, dialled) },
			}
			return dialer.DialContext(ctx, network, address)
		},
		TLSHandshakeTimeout:    dialTimeout,
		MaxIdleConns:           attemptsAtOnce,
		MaxIdleConnsPerHost:    attemptsPerEndpoint,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxAnswer,
	}
}

// refused reports whether an error says that an endpoint is not allowed, so that another attempt cannot help.
func refused(err error) bool {
	_, is := errors.AsType[*errEndpoint](err)
	return is
}
