package sim

// exactly are the patches to Go's runtime that make a run repeatable: with one processor and without garbage
// collection, a seed always gives the same run. The patches remove everything that depends on the machine's load:
// durations, the threads that the runtime starts because of them, and heap addresses, which decide the order of maps
// with pointers as keys.
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

// oneStream takes all random numbers of the program from one stream, in every thread: the case of a select, the order
// of two timers at the same time, the order of a map, math/rand and crypto/rand. The stream starts with a hash of the
// command line, which has the world's seed. So seeds differ, and two runs of one seed do not. Other random numbers of
// the runtime do not use the stream, because their number depends on how threads wait for each other.
func oneStream() []patch {
	return []patch{
		{
			random,
			"\t\tfor i, c := range startupRand {\n\t\t\tseed[i%len(seed)] ^= c\n\t\t}\n",
			"\t\thash := uint64(14695981039346656037)\n" +
				"\t\tfor i := range argc {\n" +
				"\t\t\tfor _, c := range []byte(gostringnocopy(argv_index(argv, i))) {\n" +
				"\t\t\t\thash = (hash ^ uint64(c)) * 1099511628211\n\t\t\t}\n\t\t}\n" +
				"\t\tfor i := range seed {\n\t\t\tseed[i] = byte(i+1) ^ byte(hash>>(i%8*8))\n\t\t}\n",
		},
		{random, "\tc := &mp.chacha8\n", "\tc := &m0.chacha8\n"},
		{random, "\tmp.cheaprand = rand()\n", "\tmp.cheaprand = 1\n"},
		{"GOROOT/src/runtime/select.go", "cheaprandn(uint32(norder + 1))", "randn(uint32(norder + 1))"},
		{"GOROOT/src/runtime/time.go", "t.rand = cheaprand()", "t.rand = uint32(rand())"},
		{
			"GOROOT/src/runtime/vgetrandom_linux.go",
			"func vgetrandom(p []byte, flags uint32) (ret int, supported bool) {\n",
			"func vgetrandom(p []byte, flags uint32) (ret int, supported bool) {\n" +
				"\tfor i := range p {\n\t\tp[i] = byte(rand())\n\t}\n\treturn len(p), true\n",
		},
	}
}

// anyOrder lets a goroutine of the bubble that becomes runnable run next, last, or instead of another waiting one.
// Otherwise a plan would always see the one interleaving that the scheduler prefers. The runtime's own goroutines keep
// their order, because they become runnable at times that differ between runs.
func anyOrder() []patch {
	return []patch{
		{
			schedule,
			"\tif randomizeScheduler && next && randn(2) == 0 {\n\t\tnext = false\n\t}\n",
			"\tif gp.bubble != nil {\n" +
				"\t\tnext = next && randn(2) == 0\n" +
				"\t\tif n := pp.runqtail - pp.runqhead; !next && n > 0 {\n" +
				"\t\t\tat := (pp.runqhead + randn(n)) % uint32(len(pp.runq))\n" +
				"\t\t\tif other := pp.runq[at].ptr(); other.bubble != nil && randn(2) == 0 {\n" +
				"\t\t\t\tpp.runq[at].set(gp)\n\t\t\t\tgp = other\n\t\t\t}\n\t\t}\n\t}\n",
		},
	}
}

// noCaches disables the caches for conversions of interfaces, which each thread would allocate at random.
func noCaches() []patch {
	const usual, never = "if !abi.UseInterfaceSwitchCache(goarch.ArchFamily) {\n", "if true {\n"
	return []patch{
		{caches, usual + "\t\treturn tab\n", never + "\t\treturn tab\n"},
		{caches, usual + "\t\treturn case_, tab\n", never + "\t\treturn case_, tab\n"},
	}
}

// noClock disables what depends on durations: the preemption of goroutines, and the starvation mode of mutexes.
func noClock() []patch {
	return []patch{
		{schedule, "\t\tif retake(now) != 0 {\n", "\t\tif false {\n"},
		{
			"GOROOT/src/runtime/sema.go",
			"func internal_sync_nanotime() int64 {\n\treturn nanotime()\n",
			"func internal_sync_nanotime() int64 {\n\treturn 1\n",
		},
	}
}

// allThreads starts more threads than a run needs (at most six were seen), and waits until they are idle. A thread that
// starts later would take its memory from the heap at a different moment in each run.
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
		{
			schedule,
			"\tif haveSysmon {\n\t\tsystemstack(func() {\n",
			"\tsystemstack(startThreads)\n\tif haveSysmon {\n\t\tsystemstack(func() {\n",
		},
	}
}
