// Package console is a web page for channels: it shows what waits in them, and mends dead letters.
//
// Its nouns: a [Console] is an http.Handler over a backend. A [Level] says what a user may do: see figures, see bodies
// as well, or act. A [User] and a [Proxy] say who somebody is. A [Mask] hides parts of messages. [Local] is what only
// an embedded server can do, and [Expression] is an expression on bodies; a program brings both.
//
//	c, err := console.New(backend, &console.Options{Users: users, Hosts: []string{"console.example.com"}})
//	defer c.Close(ctx)
//	http.Handle("/", c)
//
// Every page can be read, and every action taken, without script: pages are links and forms. With script, a stream of
// events replaces the parts of a page that have changed. Every view is a URL.
//
// Without users and without a proxy, only this machine is served. What a page has started goes on in the console when
// the page is closed.
package console
