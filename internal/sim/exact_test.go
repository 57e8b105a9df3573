package sim

// exactly makes a run repeatable, by patches for the runtime: with one processor and no garbage collection, one seed is one run. It
// depends on nothing that a loaded machine does differently: the time that something takes, the threads that this makes the
// runtime start, and the heap addresses behind them, which decide the order of maps whose keys are pointers.
func exactly() []patch {
	var all []patch
	for _, part := range [][]patch{oneStream(), anyOrder(), noCaches(), noClock(), allThreads()} {
		all = append(all, part...)
	}
	return all
}

const (
	random   = "GOROOT/src/runtime/rand.go"
	schedule = "GOROOT/src/runtime/proc.go"
	caches   = "GOROOT/src/runtime/iface.go"
)

// oneStream lets all that is random in a program come from one stream, whichever thread asks: which case of a select,
// which of two timers of one instant, the order of a map, packages math/rand and crypto/rand. The stream begins with a
// hash of the command line, and so with the world's seed: seeds differ in it, and two runs of one seed do not. The
// runtime's other draws, of which threads that wait for each other make more or fewer, stay out of it.
func oneStream() []patch {
	return []patch{
		{random,
			"\t\tfor i, c := range startupRand {\n\t\t\tseed[i%len(seed)] ^= c\n\t\t}\n",
			"\t\thash := uint64(14695981039346656037)\n" +
				"\t\tfor i := range argc {\n" +
				"\t\t\tfor _, c := range []byte(gostringnocopy(argv_index(argv, i))) {\n" +
				"\t\t\t\thash = (hash ^ uint64(c)) * 1099511628211\n\t\t\t}\n\t\t}\n" +
				"\t\tfor i := range seed {\n\t\t\tseed[i] = byte(i+1) ^ byte(hash>>(i%8*8))\n\t\t}\n"},
		{random, "\tc := &mp.chacha8\n", "\tc := &m0.chacha8\n"},
		{random, "\tmp.cheaprand = rand()\n", "\tmp.cheaprand = 1\n"},
		{"GOROOT/src/runtime/select.go", "cheaprandn(uint32(norder + 1))", "randn(uint32(norder + 1))"},
		{"GOROOT/src/runtime/time.go", "t.rand = cheaprand()", "t.rand = uint32(rand())"},
		{"GOROOT/src/runtime/vgetrandom_linux.go",
			"func vgetrandom(p []byte, flags uint32) (ret int, supported bool) {\n",
			"func vgetrandom(p []byte, flags uint32) (ret int, supported bool) {\n" +
				"\tfor i := range p {\n\t\tp[i] = byte(rand())\n\t}\n\treturn len(p), true\n"},
	}
}

// anyOrder lets a goroutine of the bubble that becomes runnable run next, last, or in the place of another one that waits:
// else a plan would meet the one interleaving that the scheduler prefers. Goroutines of the runtime keep their order,
// since they may become runnable at moments that differ between two runs.
func anyOrder() []patch {
	return []patch{
		{schedule,
			"\tif randomizeScheduler && next && randn(2) == 0 {\n\t\tnext = false\n\t}\n",
			"\tif gp.bubble != nil {\n" +
				"\t\tnext = next && randn(2) == 0\n" +
				"\t\tif n := pp.runqtail - pp.runqhead; !next && n > 0 {\n" +
				"\t\t\tat := (pp.runqhead + randn(n)) % uint32(len(pp.runq))\n" +
				"\t\t\tif other := pp.runq[at].ptr(); other.bubble != nil && randn(2) == 0 {\n" +
				"\t\t\t\tpp.runq[at].set(gp)\n\t\t\t\tgp = other\n\t\t\t}\n\t\t}\n\t}\n"},
	}
}

// noCaches: with chances that are left to each thread, the runtime would allocate caches for conversions of interfaces.
func noCaches() []patch {
	const usual, never = "if !abi.UseInterfaceSwitchCache(goarch.ArchFamily) {\n", "if true {\n"
	return []patch{
		{caches, usual + "\t\treturn tab\n", never + "\t\treturn tab\n"},
		{caches, usual + "\t\treturn case_, tab\n", never + "\t\treturn case_, tab\n"},
	}
}

// noClock: no goroutine loses its processor, and no mutex goes by turns, because of how long something took.
func noClock() []patch {
	return []patch{
		{schedule, "\t\tif retake(now) != 0 {\n", "\t\tif false {\n"},
		{"GOROOT/src/runtime/sema.go",
			"func internal_sync_nanotime() int64 {\n\treturn nanotime()\n",
			"func internal_sync_nanotime() int64 {\n\treturn 1\n"},
	}
}

// allThreads starts more threads than are ever needed (six have been seen) before all else and waits until they are idle: one that
// started later would take its place on the heap at a moment that is different each time.
func allThreads() []patch {
	return []patch{
		{schedule, "// The main goroutine.\nfunc main() {\n", `func startThreads() {
	const n = 12
	for range n {
		newm(func() {
			lock(&sched.lock)
			mput(getg().m)
			unlock(&sched.lock)
			mPark()
		}, nil, -1)
	}
	for idle := int32(0); idle < n; {
		osyield()
		lock(&sched.lock)
		idle = sched.nmidle
		unlock(&sched.lock)
	}
}

// The main goroutine.
func main() {
`},
		{schedule,
			"\tif haveSysmon {\n\t\tsystemstack(func() {\n",
			"\tsystemstack(startThreads)\n\tif haveSysmon {\n\t\tsystemstack(func() {\n"},
	}
}
