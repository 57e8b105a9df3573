package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// Channels that nobody uses are found, shown, confirmed by the name of their owner and deleted; no others, and the
// journal in the console's folder makes them again.
func TestSweep(t *testing.T) {
	folder := t.TempDir()
	inWorld(t, &console.Options{Folder: folder}, func(w *world) {
		shop := map[string]string{"owner": "shop"}
		w.ensure(driver.Channel{Queue: "old"}, shop)
		w.ensure(driver.Channel{Queue: "older"}, shop)
		w.ensure(driver.Channel{Queue: "foreign"}, map[string]string{"owner": "bank"})
		time.Sleep(5 * 24 * time.Hour)
		w.send(mails, driver.Message{Body: []byte("x")}) // so that CloudWatch counts
		time.Sleep(time.Hour)
		w.says(w.get("/runs"), "Delete channels that nobody uses")
		w.refused(w.do("POST", "/runs/sweep", values("owner", " ")), 400, "name the owner")
		run := w.post("/runs/sweep", "owner", "shop")
		time.Sleep(2 * time.Minute)
		page := w.settled(run)
		w.says(page, "4 channels", "would be changed", "Old", "Older@dlq", "unused", "Write <code>shop</code>")
		w.silent(page, "foreign", "The channel</a>")
		w.ensure(driver.Channel{Queue: "younger"}, shop)
		w.send(driver.Channel{Queue: "older"}, driver.Message{Body: []byte("in use again")})
		w.refused(w.do("POST", run+"/start", values("confirm", "old")), 400, "Not confirmed")
		w.post(run+"/start", "confirm", "shop")
		time.Sleep(2 * time.Minute)
		w.says(w.settled(run), ">done<", "deleted", "godwit sweep --undo")
		all, err := ops.List(w.Context(), w.b, &ops.ListOptions{NoDepths: true})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, l := range all {
			names = append(names, l.Channel.String())
		}
		text := " " + strings.Join(names, " ") + " "
		for name, stays := range map[string]bool{"old": false, "older": true, "younger": true, "foreign": true} {
			if strings.Contains(text, " "+name+" ") != stays {
				t.Errorf("%s: want there %v; there are%s", name, stays, text)
			}
		}
		w.says(w.get("/runs"), "Sweep shop", "channels of shop that nobody uses", "started", "done")
	})
}

// A run whose channel is gone meanwhile fails and says so, and so do the pages of the channel.
func TestChannelThatIsGoneMeanwhile(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.kill(noStock, bodies(3)...)
		run := w.post("/channel/orders@dlq/plan", "kind", "requeue", "filter", "kind:exhausted")
		w.says(w.settled(run), "3 messages")
		w.get("/channel/orders")
		for _, name := range []string{"orders", "orders@dlq"} {
			if _, err := ops.Remove(w.Context(), w.local, name, &ops.RemoveOptions{Messages: true}); err != nil {
				t.Fatal(err)
			}
		}
		w.post(run + "/start")
		w.says(w.settled(run), ">failed<", "does not exist")
		time.Sleep(2 * time.Minute)
		w.refused(w.do("GET", "/channel/orders", nil), 404, "The channel is gone")
		w.refused(w.do("GET", "/channel/orders@dlq/dead", nil), 404, "The channel is gone")
		w.silent(w.get("/"), "/channel/orders")
	})
}

// A person whose session has ended is asked to sign in again, in the middle of a requeue too. The run goes on, and is
// there when the person is back.
func TestSessionThatEndsMeanwhile(t *testing.T) {
	o := &console.Options{Users: users()}
	inWorld(t, o, func(w *world) {
		w.kill(noStock, bodies(30)...)
		ada := basic("ada", "may-do-it-all-1")
		nobody := func(*http.Request) {}
		wish := values("kind", "requeue", "filter", "kind:exhausted", "rate", "1")
		plan := w.do("POST", "/channel/orders@dlq/plan", wish, ada)
		run := plan.header.Get("Location")
		time.Sleep(time.Minute)
		if a := w.do("POST", run+"/start", values(), nobody); a.status != http.StatusUnauthorized {
			t.Errorf("the start of nobody: %d", a.status)
		}
		w.do("POST", run+"/start", values(), ada)
		time.Sleep(5 * time.Second)
		for _, path := range []string{run, "/runs", run + "/cancel"} {
			method := map[bool]string{true: "POST", false: "GET"}[strings.HasSuffix(path, "cancel")]
			if a := w.do(method, path, values(), nobody); a.status != http.StatusUnauthorized {
				t.Errorf("%s %s of nobody: %d", method, path, a.status)
			}
		}
		time.Sleep(2 * time.Minute)
		w.says(w.do("GET", run, nil, ada).body, ">done<", "started by ada")
		if got := w.take(orders); len(got) != 30 {
			t.Errorf("%d messages of 30", len(got))
		}
	})
}
