package localconsole_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/cmd/godwit/internal/localconsole"
	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
)

// Each namespace of the server has a console, which links to the others; what is done in one stays there.
func TestNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := localaws.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		open := func(namespace, queue string) *local.Backend {
			b, err := local.On(t.Context(), server, &local.Options{Namespace: namespace})
			if err != nil {
				t.Fatal(err)
			}
			ch := driver.Channel{Queue: queue}
			if err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: ch, Owner: true}); err != nil {
				t.Fatal(err)
			}
			return b
		}
		home, prod := open("", "orders"), open("prod", "payments")
		defer home.Close(context.Background())
		defer prod.Close(context.Background())
		c, err := localconsole.New(server, home, "", &console.Options{Level: console.LevelAct})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		do := func(method, path string, form url.Values) (int, string) {
			t.Helper()
			r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(form.Encode()))
			r.RemoteAddr = "127.0.0.1:4321"
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			c.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		says := func(path string, has, lacks string) {
			t.Helper()
			_, _ = do("GET", path, nil) // the first look may be under way
			time.Sleep(time.Minute)
			status, page := do("GET", path, nil)
			if status != 200 || !strings.Contains(page, has) || strings.Contains(page, lacks) {
				t.Errorf("%s: %d, has %q, lacks %q:\n%s", path, status, has, lacks, page)
			}
		}
		says("/", `href="/in/prod/"`, "payments")
		says("/", `href="/channel/orders"`, "payments")
		says("/in/prod/", `href="/in/prod/channel/payments"`, "orders")
		says("/in/prod/", `<a href="/">none</a>`, "orders")
		if status, _ := do("GET", "/in/nowhere/", nil); status != 404 {
			t.Errorf("a namespace that does not exist: %d", status)
		}
		form := url.Values{"channel": {"payments"}, "body": {"a kite"}}
		if status, page := do("POST", "/in/prod/local/send", form); status != 303 {
			t.Errorf("%d: %s", status, page)
		}
		if d, err := prod.Inspect(t.Context(), driver.Channel{Queue: "payments"}); err != nil || d.Waiting != 1 {
			t.Errorf("%+v, %v", d, err)
		}
		if status, _ := do("POST", "/local/fault", url.Values{"fault": {"sends fail"}}); status != 303 {
			t.Error(status)
		}
		says("/in/prod/", "<option selected>sends fail", "orders")
	})
}
