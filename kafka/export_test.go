package kafka

// UseFormerNames lets a backend name tiers and dead letters as earlier versions did: without the group of
// Options.Names. It is called before the backend is used.
func (b *Backend) UseFormerNames() { b.channels.Names = b.channels.Former() }
