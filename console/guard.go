package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard decides who may do what, before any page sees the request.
type guard struct {
	o     *Options
	hosts map[string]bool
	cross *http.CrossOriginProtection
}

// person is who makes a request, and what that allows.
type person struct {
	name  string
	level Level
}

// nobody is the name of those who need not sign in.
const nobody = "this machine"

// tokenLeast is how long a password or a token must be, so that it cannot be guessed.
const tokenLeast = 12

func newGuard(o *Options) (*guard, error) {
	g := &guard{o: o, hosts: map[string]bool{}, cross: http.NewCrossOriginProtection()}
	for _, host := range o.Hosts {
		g.hosts[strings.ToLower(host)] = true
	}
	if o.Level > LevelAct {
		return nil, fmt.Errorf("console: Options.Level is %d: use LevelFigures, LevelBodies or LevelAct", o.Level)
	}
	if len(o.Hosts) > 0 && !g.signs() {
		return nil, fmt.Errorf("console: Options.Hosts is %q, and nobody signs in: set Users or Proxy, because without "+
			"them only this machine is served", o.Hosts)
	}
	for i, u := range o.Users {
		switch {
		case u.Name == "" || strings.Contains(u.Name, ":"):
			return nil, fmt.Errorf("console: Options.Users[%d] has the name %q: it must not be empty, nor have a colon", i,
				u.Name)
		case u.Password == "" && u.Token == "":
			return nil, fmt.Errorf("console: user %s has neither a password nor a token: set one", u.Name)
		case u.Password != "" && len(u.Password) < tokenLeast, u.Token != "" && len(u.Token) < tokenLeast:
			return nil, fmt.Errorf("console: user %s has a password or a token of less than %d characters: use a longer one",
				u.Name, tokenLeast)
		case u.Level > LevelAct:
			return nil, fmt.Errorf("console: user %s has the level %d: use LevelFigures, LevelBodies or LevelAct",
				u.Name,
				u.Level)
		}
	}
	if p := o.Proxy; p != nil && (p.Header == "" || len(p.From) == 0) {
		return nil, errors.New("console: Options.Proxy needs Header, and From with the addresses of the proxy: without " +
			"them anybody could say who they are")
	}
	return g, nil
}

// signs reports whether people sign in.
func (g *guard) signs() bool { return len(g.o.Users) > 0 || g.o.Proxy != nil }

// personKey is the key of a request's person in its context.
type personKey struct{}

// protect checks every request before its handler: the host, the origin, and who it is.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		p, status, err := g.check(r)
		if err != nil {
			if status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Basic realm="godwit console", charset="UTF-8"`)
			}
			http.Error(w, err.Error(), status)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), personKey{}, p)))
	})
}

// secure sets the headers of every answer.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
		"img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "+
		"trusted-types godwit")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// check returns who makes a request, or why it is refused.
func (g *guard) check(r *http.Request) (p person, status int, err error) {
	if err := g.checkHost(r); err != nil {
		return p, http.StatusMisdirectedRequest, err
	}
	if err := g.cross.Check(r); err != nil {
		return p, http.StatusForbidden, fmt.Errorf("the request comes from a page of another site: %w", err)
	}
	return g.identify(r)
}

// checkHost refuses hosts that the console does not have, because a foreign page can make a name of its own lead here.
func (g *guard) checkHost(r *http.Request) error {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || g.hosts[host] {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && (ip.Unmap().IsLoopback() || g.signs()) {
		return nil
	}
	return fmt.Errorf("the console is not known as %q: set Options.Hosts (--host) to the names by which browsers reach it",
		host)
}

// identify returns who makes a request.
func (g *guard) identify(r *http.Request) (p person, status int, err error) {
	from := addrOf(r.RemoteAddr)
	if proxy := g.o.Proxy; proxy != nil {
		if name := r.Header.Get(proxy.Header); name != "" {
			if !slices.ContainsFunc(proxy.From, func(n netip.Prefix) bool { return n.Contains(from) }) {
				return p, http.StatusForbidden,
					fmt.Errorf("the header %s comes from %s, which is not the trusted proxy: "+
						"add its address to Proxy.From (--proxy-from)", proxy.Header, from)
			}
			return person{name, g.levelOf(name)}, 0, nil
		}
	}
	if !g.signs() {
		// A request without an address comes from this process.
		if from.IsValid() && !from.IsLoopback() {
			return p, http.StatusForbidden,
				errors.New("only this machine is served, because nobody signs in: set Users or " +
					"Proxy to serve others")
		}
		return person{nobody, g.o.Level}, 0, nil
	}
	name, password, basic := r.BasicAuth()
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	for i := range g.o.Users {
		u := &g.o.Users[i]
		if basic && u.Password != "" && same(u.Name, name) && same(u.Password, password) ||
			bearer && u.Token != "" && same(u.Token, token) {
			return person{u.Name, cmp.Or(u.Level, g.o.Level)}, 0, nil
		}
	}
	return p, http.StatusUnauthorized, errors.New("sign in: the name, the password or the token is missing or wrong")
}

// levelOf returns the level of somebody whom the proxy has signed in.
func (g *guard) levelOf(name string) Level {
	for i := range g.o.Users {
		if g.o.Users[i].Name == name {
			return cmp.Or(g.o.Users[i].Level, g.o.Level)
		}
	}
	return g.o.Level
}

// same compares in a time that says nothing about the texts.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// addrOf returns the address of a client; invalid: there is none.
func addrOf(remote string) netip.Addr {
	p, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr().Unmap()
}
