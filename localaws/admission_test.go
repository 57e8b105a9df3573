package localaws_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/localaws"
)

// asked sends a request to the server's handler, as an http.Server does, and returns the answer.
func asked(s *localaws.Server, method, target, body string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:4566"
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range header {
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// chromium are headers that Chromium 156 sends to http://127.0.0.1:4566, by what its user or a page does.
var chromium = map[string]map[string]string{
	"a form of another site": {
		"Origin": "http://evil.test", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate",
		"Sec-Fetch-Dest": "document", "Sec-Fetch-User": "?1", "Upgrade-Insecure-Requests": "1",
	},
	"a picture of another site": {
		"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image",
		"Referer": "http://evil.test/",
	},
	"a page on another port of this machine": {
		"Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors",
	},
	"a page in a sandbox":                       {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
	"a browser without Sec-Fetch-Site":          {"Origin": "http://evil.test"},
	"a name that means this machine":            {"Host": "evil.test:4566", "Sec-Fetch-Site": "same-origin"},
	"the same with an Origin":                   {"Host": "evil.test:4566", "Origin": "http://evil.test:4566"},
	"a name that ends like one of this machine": {"Host": "127.0.0.1.evil.test"},
	"a name that begins like one":               {"Host": "localhost.evil.test"},
}

// A web page can neither change nor read anything, with any method and in any way that browsers have; the answer says
// how to allow it.
func TestPagesAreRefused(t *testing.T) {
	for name, header := range chromium {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			f.send(f.create("q", nil), "secret")
			for _, request := range [][3]string{
				{"POST", "/", "Action=CreateTopic&Name=t&Version=2010-03-31"},
				{"GET", "/?Action=CreateTopic&Name=t&Version=2010-03-31"},
				{"GET", "/_localaws/queues/q/messages"},
				{"POST", "/_localaws/reset"},
				{"POST", "/_localaws/advance", "d=1h"},
				{"PUT", "/bucket"},
				{"OPTIONS", "/"},
			} {
				w := asked(f.server, request[0], request[1], request[2], header)
				text := w.Body.String()
				if w.Code != http.StatusForbidden || !strings.Contains(text, "godwit local --allow-") ||
					strings.Contains(text, "secret") || len(w.Header()["Access-Control-Allow-Origin"]) > 0 {
					t.Errorf("%v: %d %v %s", request, w.Code, w.Header(), text)
				}
			}
			if len(f.server.SNS().Topics())+len(f.server.S3().Buckets()) > 0 || f.server.SQS().Queue("q") == nil {
				t.Error("the server was changed")
			}
		})
	}
}

// Clients that are no pages, and the server's own pages in a browser, are served as before.
func TestClientsAreAdmitted(t *testing.T) {
	f := newFixture(t, &localaws.Options{Seed: testSeed, AllowHosts: []string{"host.docker.internal"}})
	for _, host := range []string{
		"", "127.0.0.1:4566", "[::1]:4566", "192.0.2.1", "localhost:4566", "LOCALHOST", "localhost.",
		"photos.localhost:4566", "photos.s3.localhost", "localaws:4566", "host.docker.internal:4566",
		"photos.host.docker.internal",
		"000000000000.127.0.0.1:4566",
	} {
		for _, header := range []map[string]string{
			{},
			{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-User": "?1"}, // typed by the user
			{"Sec-Fetch-Site": "same-origin", "Origin": "http://" + strings.ToLower(host)},
		} {
			if host == "" && header["Origin"] != "" {
				continue
			}
			header["Host"] = host
			if w := asked(f.server, "GET", "/_localaws/health", "", header); w.Code != http.StatusOK {
				t.Errorf("%v: %d %s", header, w.Code, w.Body)
			}
		}
	}
	evil := chromium["a form of another site"]
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://evil.test/_localaws/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range evil {
		r.Header.Set(name, value)
	}
	answer, err := f.server.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("in process: %s", answer.Status)
	}
}

// A page whose origin is allowed may call the server with CORS, after a preflight, and no other page may.
func TestAllowedOrigins(t *testing.T) {
	f := newFixture(t, &localaws.Options{Seed: testSeed, AllowOrigins: []string{"http://localhost:3000"}})
	page := map[string]string{"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}
	before := map[string]string{
		"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "amz-sdk-request,x-amz-target",
		"Access-Control-Request-Private-Network": "true",
	}
	maps.Copy(before, page)
	w := asked(f.server, "OPTIONS", "/", "", before)
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "http://localhost:3000", "Vary": "Origin",
		"Access-Control-Allow-Headers":         "amz-sdk-request,x-amz-target",
		"Access-Control-Allow-Methods":         "GET, HEAD, POST, PUT, DELETE",
		"Access-Control-Allow-Private-Network": "true",
	} {
		if got := w.Header().Get(name); w.Code != http.StatusNoContent || got != want {
			t.Errorf("preflight: %d, %s: %q, want %q", w.Code, name, got, want)
		}
	}
	for _, target := range []string{
		"/?Action=ListTopics&Version=2010-03-31", "/?Action=ListQueues&Version=2012-11-05", "/_localaws/queues", "/",
	} {
		w := asked(f.server, "GET", target, "", page)
		if w.Code >= 500 || w.Code == http.StatusForbidden ||
			w.Header().Get("Access-Control-Allow-Origin") != "http://localhost:3000" ||
			w.Header().Get("Access-Control-Expose-Headers") != "*" {
			t.Errorf("%s: %d %v %s", target, w.Code, w.Header(), w.Body)
		}
	}
	for name, header := range chromium {
		if w := asked(f.server, "GET", "/_localaws/queues", "", header); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}

// What is no name, origin or range is refused at the start.
func TestInvalidAdmission(t *testing.T) {
	for _, o := range []localaws.Options{
		{AllowHosts: []string{"http://x"}},
		{AllowHosts: []string{"x:80"}},
		{AllowHosts: []string{"*.x"}},
		{AllowOrigins: []string{"*"}},
		{AllowOrigins: []string{"localhost:3000"}},
		{AllowOrigins: []string{"http://localhost:3000/"}},
		{AllowEndpoints: []string{"http://x"}},
		{AllowEndpoints: []string{"10.0.0.0/33"}},
		{AllowEndpoints: []string{""}},
	} {
		if s, err := localaws.New(&o); err == nil {
			_ = s.Close()
			t.Errorf("%+v was accepted", o)
		}
	}
}

var browser = flag.String("chromium", "", "a Chromium, whose pages are refused; .ci/interop gives it")

// A page in Chromium neither subscribes an endpoint nor reads a message, and a page under a name that means this
// machine does not either. The server's own pages can be opened.
func TestChromiumIsRefused(t *testing.T) {
	if *browser == "" {
		t.Skip("no -chromium: .ci/interop runs this")
	}
	f := newFixture(t, nil)
	f.send(f.create("q", nil), "secret")
	addr, err := f.server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		t.Fatal(err)
	}
	target := "http://" + addr.String()
	page := fmt.Sprintf(evilPage, target, "http://localhost:"+port)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, page)
	}))
	defer site.Close()
	open := func(address string) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, *browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
			"--disable-background-networking", "--user-data-dir="+t.TempDir(), "--virtual-time-budget=10000",
			"--host-resolver-rules=MAP evil.test "+site.Listener.Addr().String()+", MAP rebound.test 127.0.0.1",
			"--dump-dom", address).Output()
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		return string(out)
	}
	if text := open("http://evil.test/"); !strings.Contains(text, "tried 8") || strings.Contains(text, "secret") {
		t.Errorf("the page ended as\n%s", text)
	}
	if text := open("http://rebound.test:" + port + "/_localaws/queues/q/messages"); !strings.Contains(text,
		"--allow-host") || strings.Contains(text, "secret") {
		t.Errorf("under another name:\n%s", text)
	}
	if text := open(target + "/_localaws/queues/q/messages"); !strings.Contains(text, "secret") {
		t.Errorf("the server's own page:\n%s", text)
	}
	if len(f.server.SNS().Topics()) > 0 || f.server.SQS().Queue("q") == nil || len(f.server.S3().Buckets()) > 0 {
		t.Error("the page has changed the server")
	}
	calls := regexp.MustCompile(`^(sqs\.(CreateQueue|SendMessage)|s3\.ListObjects)$`) // /favicon.ico
	for name := range f.server.Calls() {
		if !calls.MatchString(name) {
			t.Errorf("the page has called %s", name)
		}
	}
}

// evilPage tries what a page can send without being asked about: forms, pictures, and requests that it does not read;
// and requests that it wants to read.
const evilPage = `<!doctype html><title>x</title><body><script>
const [a, b] = [%q, %q], form = "Action=CreateTopic&Name=t&Version=2010-03-31";
const type = {"Content-Type": "application/x-www-form-urlencoded"};
let tried = 0;
const one = p => p.then(r => r.text ? r.text() : "").catch(e => "").then(text => {
  document.body.append(text);
  tried++;
});
const picture = src => new Promise(done => { const i = new Image(); i.onload = i.onerror = done; i.src = src; });
Promise.all([
  one(fetch(a, {method: "POST", mode: "no-cors", headers: type, body: form})),
  one(fetch(b, {method: "POST", mode: "no-cors", headers: type, body: form})),
  one(fetch(a, {method: "POST", headers: type, body: form})),
  one(fetch(a + "/_localaws/reset", {method: "POST", mode: "no-cors"})),
  one(fetch(b + "/_localaws/queues/q/messages")),
  one(fetch(a + "/bucket", {method: "PUT"})),
  one(picture(a + "/?" + form)),
  one(picture(b + "/?" + form)),
]).then(() => document.body.append("tried " + tried));
</script>`

// A wildcard would allow nothing, so it is refused.
func TestAnOriginWithAWildcardIsRefused(t *testing.T) {
	for _, origin := range []string{"*", "http://*", "https://*.example.com"} {
		if _, err := localaws.New(&localaws.Options{AllowOrigins: []string{origin}}); err == nil ||
			!strings.Contains(err.Error(), "AllowOrigins has") {
			t.Errorf("%s: %v", origin, err)
		}
	}
}
