package console_test

import (
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver/memdriver"
)

// users are one of each level.
func users() []console.User {
	return []console.User{
		{Name: "fay", Password: "figures-only-1", Level: console.LevelFigures},
		{Name: "bob", Password: "bodies-as-well", Token: "token-of-bob-1", Level: console.LevelBodies},
		{Name: "ada", Password: "may-do-it-all-1", Level: console.LevelAct},
	}
}

func basic(name, password string) func(r *http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(name, password) }
}

// Every route refuses those without rights: nobody, somebody whose level is too low, a foreign host and a foreign page.
func TestRoutesWithoutRights(t *testing.T) {
	inWorld(t, &console.Options{Users: users()}, func(w *world) {
		w.kill(noStock, bodies(1)...)
		level := map[console.Level]func(r *http.Request){
			0: func(*http.Request) {}, console.LevelFigures: basic("fay", "figures-only-1"),
			console.LevelBodies: basic("bob", "bodies-as-well"), console.LevelAct: basic("ada", "may-do-it-all-1"),
		}
		patterns := console.Patterns()
		if len(patterns) < 15 {
			t.Fatalf("only %d routes", len(patterns))
		}
		for pattern, needs := range patterns {
			method, path, _ := strings.Cut(pattern, " ")
			path = strings.NewReplacer("{$}", "", "{name}", "orders", "{id}", "1", "{what}", "send").Replace(path)
			for may, as := range level {
				a := w.do(method, path, nil, as)
				want := 0
				switch {
				case may == 0:
					want = http.StatusUnauthorized
				case may < needs:
					want = http.StatusForbidden
				}
				if want != 0 && a.status != want {
					t.Errorf("%s as %v: %d, want %d", pattern, may, a.status, want)
				}
				if want == 0 && (a.status == http.StatusForbidden || a.status == http.StatusUnauthorized) {
					t.Errorf("%s as %v: %d", pattern, may, a.status)
				}
				if !strings.Contains(a.header.Get("Content-Security-Policy"), "default-src 'none'") {
					t.Errorf("%s: no policy", pattern)
				}
			}
			a := w.do(method, path, nil, level[console.LevelAct],
				func(r *http.Request) { r.Host = "evil.example.com" })
			if a.status != http.StatusMisdirectedRequest {
				t.Errorf("%s with a foreign host: %d", pattern, a.status)
			}
			a = w.do(method, path, nil, level[console.LevelAct], func(r *http.Request) {
				r.Header.Set("Sec-Fetch-Site", "cross-site")
			})
			if method == "POST" && a.status != http.StatusForbidden {
				t.Errorf("%s from a foreign page: %d", pattern, a.status)
			}
			a = w.do(method, path, nil, level[console.LevelAct], func(r *http.Request) {
				r.Header.Set("Origin", "http://evil.example.com")
			})
			if method == "POST" && a.status != http.StatusForbidden {
				t.Errorf("%s from a foreign origin: %d", pattern, a.status)
			}
		}
		w.do("POST", "/channel/orders/resume", nil, level[console.LevelAct])
		if got := w.take(orders); len(got) != 0 {
			t.Errorf("something was sent: %q", got)
		}
	})
}

// People sign in by password, by token, or at a trusted proxy, and nothing else lets them in.
func TestSignIn(t *testing.T) {
	o := &console.Options{
		Users: users(), Level: console.LevelFigures, Hosts: []string{"console.example.com"},
		Proxy: &console.Proxy{Header: "X-User", From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
	}
	inWorld(t, o, func(w *world) {
		for name, c := range map[string]struct {
			edit   func(r *http.Request)
			status int
			says   string
		}{
			"nobody":      {func(*http.Request) {}, 401, "sign in"},
			"a password":  {basic("ada", "may-do-it-all-1"), 200, "ada, act"},
			"a wrong one": {basic("ada", "may-do-it-all-2"), 401, "sign in"},
			"another's":   {basic("ada", "bodies-as-well"), 401, "sign in"},
			"no password": {basic("ada", ""), 401, "sign in"},
			"a token": {
				func(r *http.Request) { r.Header.Set("Authorization", "Bearer token-of-bob-1") },
				200, "bob, bodies",
			},
			"a wrong token": {
				func(r *http.Request) { r.Header.Set("Authorization", "Bearer token-of-bob-2") },
				401, "sign in",
			},
			"an empty token": {func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401, "sign in"},
			"the proxy": {
				func(r *http.Request) { r.RemoteAddr = "10.1.2.3:1"; r.Header.Set("X-User", "eve") },
				200, "eve, figures",
			},
			"a user's proxy": {
				func(r *http.Request) { r.RemoteAddr = "10.1.2.3:1"; r.Header.Set("X-User", "ada") },
				200, "ada, act",
			},
			"another proxy": {
				func(r *http.Request) { r.RemoteAddr = "11.1.2.3:1"; r.Header.Set("X-User", "ada") },
				403, "not the trusted proxy",
			},
			"a proxy as well": {func(r *http.Request) {
				r.SetBasicAuth("ada",
					"may-do-it-all-1")
				r.Header.Set("X-User", "ada")
			}, 403, "not the trusted proxy"},
			"a known host": {func(r *http.Request) {
				r.Host = "console.example.com:8080"
				r.SetBasicAuth("fay",
					"figures-only-1")
			}, 200, "fay, figures"},
			"an address": {func(r *http.Request) {
				r.Host = "192.0.2.7:80"
				r.SetBasicAuth("fay",
					"figures-only-1")
			}, 200, "fay"},
			"another host": {func(r *http.Request) {
				r.Host = "console.example.org"
				r.SetBasicAuth("fay",
					"figures-only-1")
			}, 421, "--host"},
		} {
			a := w.do("GET", "/", nil, c.edit)
			if a.status != c.status || !strings.Contains(a.body, c.says) {
				t.Errorf("%s: %d, want %d and %q: %.200s", name, a.status, c.status, c.says, a.body)
			}
		}
	})
}

// Without users, only this machine is served.
func TestOnlyThisMachine(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		for host, ok := range map[string]bool{
			"localhost:1": true, "127.0.0.1": true, "[::1]:80": true, "10.0.0.1": false, "godwit": false, "": false,
		} {
			if a := w.do("GET", "/", nil, func(r *http.Request) { r.Host = host }); (a.status == 200) != ok {
				t.Errorf("host %q: %d", host, a.status)
			}
		}
		for remote, ok := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "10.0.0.1:1": false, "": true} {
			if a := w.do("GET", "/", nil, func(r *http.Request) { r.RemoteAddr = remote }); (a.status == 200) != ok {
				t.Errorf("client %q: %d", remote, a.status)
			}
		}
	})
}

// Options that leave a door open, or that make no sense, are refused.
func TestOptions(t *testing.T) {
	b, err := memdriver.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(newer, []byte("godwit-history 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]console.Options{
		"nobody signs in":     {Hosts: []string{"console.example.com"}},
		"has the name":        {Users: []console.User{{Password: "long-enough-1"}}},
		"neither a password":  {Users: []console.User{{Name: "ada"}}},
		"less than 12":        {Users: []console.User{{Name: "ada", Password: "short"}}},
		"has the level 9":     {Users: []console.User{{Name: "ada", Password: "long-enough-1", Level: 9}}},
		"Options.Level is 9":  {Level: 9},
		"needs Header":        {Proxy: &console.Proxy{Header: "X-User"}},
		"begin with a slash":  {Path: "console"},
		"Interval is 1ms":     {Interval: 1e6},
		"make Options.Folder": {Folder: "/dev/null/x"},
		"is of version 2":     {History: newer},
	} {
		if c, err := console.New(b, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
			if c != nil {
				_ = c.Close(t.Context())
			}
		}
	}
}
