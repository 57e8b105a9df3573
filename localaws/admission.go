package localaws

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// admission decides which requests from a socket reach the server. There is no authentication, and every page in a
// browser on this machine can send requests to it: from another site, or, by DNS rebinding, under a name of its own
// that suddenly means this machine. A browser marks the former by Origin and Sec-Fetch-Site, and the latter by Host.
type admission struct {
	hosts   []string // names that Host may be, or be below, in addition to those of this machine
	origins []string // origins whose pages may call the server
	log     *slog.Logger
}

// inProcess is the host of clients in process, such as those of package local.
const inProcess = "localaws.internal"

// newAdmission checks the names in Options.
func newAdmission(o Options) (admission, error) {
	a := admission{log: o.Logger}
	for _, name := range o.AllowHosts {
		if name == "" || strings.ContainsAny(name, "/:*@ ") {
			return a, fmt.Errorf("localaws: Options.AllowHosts has %q, which is not a host name such as aws.example.test",
				name)
		}
		a.hosts = append(a.hosts, strings.ToLower(strings.Trim(name, ".")))
	}
	for _, origin := range o.AllowOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			return a, fmt.Errorf("localaws: Options.AllowOrigins has %q, which is not an origin such as "+
				"http://localhost:3000", origin)
		}
		if strings.Contains(origin, "*") {
			return a, fmt.Errorf("localaws: Options.AllowOrigins has %q: '*' stands for nothing there; name each origin, "+
				"such as http://localhost:3000", origin)
		}
		a.origins = append(a.origins, strings.ToLower(origin))
	}
	return a, nil
}

// admit answers requests that may not reach the server, and preflights of pages that may call it. It reports whether
// the request is to be handled. refuse answers with a reason in the form that the request's client can read.
func (a admission) admit(w http.ResponseWriter, r *http.Request,
	refuse func(http.ResponseWriter, *http.Request, error),
) bool {
	if err := a.check(r); err != nil {
		a.log.Warn("localaws: a request was refused", "method", r.Method, "host", r.Host,
			"origin", r.Header.Get("Origin"), "reason", err)
		// What the client still sends is not read without a limit of time.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(wire.Idle)) // not every writer has one
		w.Header().Set("Connection", "close")
		refuse(w, r, err)
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	allow(w.Header(), origin)
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		preflight(w, r)
		return false
	}
	return true
}

// check returns the reason why a request is refused.
func (a admission) check(r *http.Request) error {
	if !a.allowsHost(r.Host) {
		return fmt.Errorf("the server does not answer for the host %q, because a web page can give its own name the "+
			"address of this machine. Use localhost or an IP address, or allow the name: Options.AllowHosts, "+
			"godwit local --allow-host", hostName(r.Host))
	}
	origins, marks := r.Header.Values("Origin"), r.Header.Values("Sec-Fetch-Site")
	if len(origins) > 1 || len(marks) > 1 {
		return errors.New("the request has more than one Origin or Sec-Fetch-Site")
	}
	if len(origins) == 1 {
		switch origin := strings.ToLower(origins[0]); {
		case slices.Contains(a.origins, origin):
			return nil
		case origin != "http://"+strings.ToLower(r.Host) && origin != "https://"+strings.ToLower(r.Host):
			return fmt.Errorf("a page of %q may not call this server. To let it, allow its origin: "+
				"Options.AllowOrigins, godwit local --allow-origin", origins[0])
		}
	}
	if len(marks) == 1 && marks[0] != "same-origin" && marks[0] != "none" {
		return fmt.Errorf("a browser sends this request for a page of another site (Sec-Fetch-Site: %s). Enter the "+
			"address in the browser by hand, or allow the page's origin, and let it send requests with CORS: "+
			"Options.AllowOrigins, godwit local --allow-origin", marks[0])
	}
	return nil
}

// allowsHost reports whether a Host cannot be a name that a web page has chosen: an address, a name below an IPv4
// address, which browsers refuse to open, localhost and names below it, a name without dots, or an allowed one. No
// public name ends in .internal.
func (a admission) allowsHost(host string) bool {
	name := hostName(host)
	if _, err := netip.ParseAddr(name); err == nil || !strings.Contains(name, ".") {
		return true
	}
	if labels := strings.Split(name, "."); len(labels) > 4 {
		if _, err := netip.ParseAddr(strings.Join(labels[len(labels)-4:], ".")); err == nil {
			return true
		}
	}
	below := func(domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }
	return below("localhost") || below(inProcess) || slices.ContainsFunc(a.hosts, below)
}

// hostName returns a Host without port, brackets and final dot.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// allow writes the headers of CORS that every answer for an allowed page has.
func allow(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "*")
	h.Add("Vary", "Origin")
}

// preflight tells a browser that an allowed page may send the request that it asks about.
func preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE")
	if names := r.Header.Get("Access-Control-Request-Headers"); names != "" {
		h.Set("Access-Control-Allow-Headers", names)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
