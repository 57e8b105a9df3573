package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
)

// poison rejects n messages of orders.
func (w *world) poison(n int, text string) {
	w.Helper()
	var ms []driver.Message
	for i := range n {
		ms = append(ms, driver.Message{Body: []byte(fmt.Sprintf("%s %d", text, i))})
	}
	w.send(orders, ms...)
	w.reject(orders, n, func(int, *driver.Delivery) driver.Death {
		return driver.Death{Kind: "exhausted", Error: text, Last: time.Now(), Attempts: 3}
	})
}

// A page shows a change without being loaded again, and filters as one types.
func TestLiveAndFilter(t *testing.T) {
	w := newWorld(t)
	w.ensure(orders, nil)
	w.ensure(mails, nil)
	tab := newTab(t, w.serve(w.b, &console.Options{Level: console.LevelAct, Interval: time.Second}))
	tab.open("/")
	tab.says("All 2 channels are within bounds")
	tab.do(chromedp.Evaluate[chromedp.Void]("void (window.same = true)"))
	w.poison(3, "no stock")
	tab.says("3 dead letters")
	tab.do(chromedp.SendKeys("#q", "mai"))
	tab.until(`!document.querySelector("#now-list").innerText.includes("orders")`)
	tab.until(`location.search === "?q=mai&sort=problems"`)
	if !ask(tab, chromedp.Evaluate[bool]("window.same === true")) {
		t.Error("the page was loaded again")
	}
}

// A group is found, selected, planned, confirmed by its name and requeued, with progress; another run is canceled.
func TestRequeueAndCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(orders, nil)
	w.poison(150, "no stock for article 7")
	tab := newTab(t, w.serve(w.b, &console.Options{Level: console.LevelAct, Interval: time.Second}))
	tab.open("/")
	tab.says("150 dead letters")
	tab.do(chromedp.Click(`a[href$="/dead"]`))
	tab.says("150 dead letters in 1 group")
	tab.do(chromedp.Click("#dead-groups tbody a"))
	tab.says("150 messages selected")
	tab.do(chromedp.SetValue("input[name=rate]", "10"), chromedp.Submit("form input[value=requeue]"))
	tab.says("150 messages would be changed")
	tab.do(chromedp.Click("#run-form button.primary"))
	if !ask(tab, chromedp.Evaluate[bool](`document.querySelector("#confirm").matches(":invalid")`)) {
		t.Error("the name is not asked for")
	}
	tab.do(chromedp.SendKeys("#confirm", "orders@dlq"), chromedp.Click("#run-form button.primary"))
	tab.says("Started by this machine")
	tab.until(`document.querySelector("progress")?.value > 5`)
	tab.do(chromedp.Click("#run-form button"))
	tab.says("canceled by this machine")
	tab.open("/channel/orders@dlq/dead?filter=all")
	tab.do(chromedp.Submit("form input[value=requeue]"))
	tab.says("to confirm")
	tab.do(chromedp.SendKeys("#confirm", "orders@dlq"), chromedp.Click("#run-form button.primary"))
	tab.until(`document.querySelector("#run-state .tag")?.innerText === "done"`)
	tab.open("/channel/orders@dlq/dead")
	tab.says("No dead letters")
}

// A message is edited and requeued by the page alone; a script in its body does nothing.
func TestEditAndInertScript(t *testing.T) {
	w := newWorld(t)
	w.ensure(orders, nil)
	w.poison(1, `<script>document.title="pwned"</script><img src=x onerror="document.title='pwned'">`)
	tab := newTab(t, w.serve(w.b, &console.Options{Level: console.LevelAct, Interval: time.Second}))
	tab.open("/channel/orders@dlq/dead")
	tab.says("<script>document.title")
	tab.do(chromedp.Click("#dead-list tbody a"))
	tab.says("Edit and requeue")
	if title := ask(tab, chromedp.Title()); title == "pwned" {
		t.Error("the script ran")
	}
	tab.do(chromedp.Click("#edit summary"), chromedp.SetValue("#body-text", "mended"),
		chromedp.Submit("#body-text"))
	tab.says("After: mended")
	tab.do(chromedp.Click("#run-form button.primary"))
	tab.until(`document.querySelector("#run-state .tag")?.innerText === "done"`)
	tab.open("/channel/orders/messages")
	tab.says("mended")
}

// All of it works by keyboard alone.
func TestKeyboard(t *testing.T) {
	w := newWorld(t)
	w.ensure(orders, nil)
	w.ensure(mails, nil)
	w.poison(2, "no stock")
	tab := newTab(t, w.serve(w.b, &console.Options{Level: console.LevelAct, Interval: time.Second}))
	tab.open("/")
	tab.says("2 dead letters")
	tab.do(chromedp.KeyEvent("/"))
	tab.until(`document.activeElement.id === "q"`)
	tab.do(chromedp.Evaluate[chromedp.Void](`void (document.activeElement.value = "")`)) // the protocol types the slash
	tab.do(chromedp.KeyEvent("ord"))
	tab.until(`!document.querySelector("#now-list").innerText.includes("mails")`)
	tab.do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter))
	tab.until(`location.pathname === "/channel/orders"`)
	tab.says("Pause")
	for range 60 {
		tab.do(chromedp.KeyEvent(kb.Tab))
		if ask(tab, chromedp.Evaluate[bool](`document.activeElement.innerText === "Pause"`)) {
			break
		}
	}
	style := "getComputedStyle(document.activeElement).outlineStyle"
	if outline := ask(tab, chromedp.Evaluate[string](style)); outline == "none" {
		t.Error("the focus is not visible")
	}
	tab.do(chromedp.Evaluate[chromedp.Void]("void (window.before = true)"), chromedp.KeyEvent(kb.Enter))
	tab.until(`window.before === undefined && document.readyState === "complete"`)
	tab.open("/runs")
	tab.says("Pause orders")
}

// Without script, pages show the same, and forms act.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(orders, nil)
	w.poison(2, "no stock")
	base := w.serve(w.b, &console.Options{Level: console.LevelAct, Interval: time.Second})
	tab := newTab(t, base)
	_, err := chromedp.Call(tab.ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true})
	if err != nil {
		t.Fatal(err)
	}
	shows := func(selector, text string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(tab.ctx, patience)
		defer cancel()
		for {
			shown, err := chromedp.Run(ctx, chromedp.OuterHTML(selector))
			switch {
			case err == nil && strings.Contains(shown, text):
				return
			case err != nil && !leaves.MatchString(err.Error()):
				t.Fatalf("%s does not show %q: %v", selector, text, err)
			}
		}
	}
	tab.open("/")
	shows("body", "2 dead letters") // the page loads itself again while the first look is under way
	tab.open("/channel/orders@dlq/dead?filter=all")
	tab.do(chromedp.Click(".acts button.primary"))
	shows("body", "2 messages")
	tab.do(chromedp.Click("#run-form button.primary"))
	shows("#run-state", ">done<")
}

// Somebody who has not signed in sees nothing, and whose level is figures gets no form that acts.
func TestLevelsInTheBrowser(t *testing.T) {
	w := newWorld(t)
	w.ensure(orders, nil)
	w.poison(1, "card 4111 declined")
	base := w.serve(w.b, &console.Options{
		Interval: time.Second, Users: []console.User{{Name: "fay", Password: "figures-only-1"}},
	})
	answer, err := http.Get(base)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d", answer.StatusCode)
	}
	tab := newTab(t, base)
	tab.do(chromedp.Navigate("http://fay:figures-only-1@" + base[len("http://"):] +
		"/channel/orders@dlq/dead?filter=all"))
	tab.says("fay, figures")
	tab.says("1 message selected")
	if n := ask(tab, chromedp.Evaluate[int](`document.querySelectorAll("form[method=post]").length`)); n != 0 {
		t.Errorf("%d forms act", n)
	}
}

// A page of another site can neither post to the console nor show it in a frame, and reaches it by no other name.
func TestForeignPage(t *testing.T) {
	w := newWorld(t)
	w.ensure(orders, nil)
	base := w.serve(w.b, &console.Options{Level: console.LevelAct, Interval: time.Second})
	tab := newTab(t, base)
	tab.do(chromedp.Navigate(fmt.Sprintf(`data:text/html,<form method=post action="%s/channel/orders/pause"><button>x`, base)),
		chromedp.Click("button"))
	tab.says("another site")
	foreign := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		to.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(to, `<title>%s</title><iframe src="%s"></iframe>`, r.URL.Path, r.FormValue("of"))
	}))
	defer foreign.Close()
	for of, shown := range map[string]bool{base + "/": false, base + "/runs": false, foreign.URL + "/own": true} {
		tab.do(chromedp.Navigate(foreign.URL + "/?of=" + of))
		tab.until(`document.readyState === "complete"`)
		tree, err := chromedp.Call(tab.ctx, page.GetFrameTree, cdp.Empty{})
		if err != nil || len(tree.FrameTree.ChildFrames) != 1 {
			t.Fatalf("%+v, %v", tree, err)
		}
		frame := tree.FrameTree.ChildFrames[0].Frame
		if (frame.UnreachableURL == "") != shown {
			t.Errorf("a frame of %s in another site's page: %s, unreachable %q", of, frame.URL, frame.UnreachableURL)
		}
	}
	port := base[strings.LastIndex(base, ":"):]
	tab.do(chromedp.Navigate("http://" + foreignHost + port + "/runs"))
	tab.says("--host")
	if strings.Contains(tab.text(), "Audit log") {
		t.Error("a foreign host has shown the console")
	}
}

// A namespace is chosen in the page, by mouse or keyboard.
func TestNamespaces(t *testing.T) {
	w := newWorld(t)
	w.ensure(orders, nil)
	prod, err := local.On(t.Context(), w.b.Server(), &local.Options{Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	defer prod.Close(context.Background())
	payments := driver.Channel{Queue: "payments"}
	if err := prod.Ensure(t.Context(), driver.ChannelSpec{Channel: payments, Owner: true}); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for i, b := range []driver.Backend{w.b, prod} {
		path := []string{"", "/in/prod"}[i]
		c, err := console.New(b, &console.Options{
			Path: path, Level: console.LevelAct, Interval: time.Second, Spaces: func() []console.Space {
				return []console.Space{{Href: "/", Here: i == 0}, {Name: "prod", Href: "/in/prod/", Here: i == 1}}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		mux.Handle(path+"/", c)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	tab := newTab(t, server.URL)
	tab.open("/")
	tab.says("orders")
	tab.pressIn(".spaces a", "prod")
	tab.on("/in/prod/")
	tab.says("payments")
	tab.picture("namespace")
	tab.press("payments")
	tab.on("/in/prod/channel/payments")
	tab.pressIn(".spaces a", "none")
	tab.on("/")
}
