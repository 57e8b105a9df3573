package console

// Patterns returns the routes, with the level that each needs.
func Patterns() map[string]Level {
	all := map[string]Level{}
	for _, r := range routes() {
		all[r.pattern] = r.needs
	}
	return all
}
