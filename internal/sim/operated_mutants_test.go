package sim

// operatedMutants are mutants that worlds with operators find.
func operatedMutants() []mutant {
	return []mutant{
		{"requeue-without-renewals", []patch{
			{"ops/internal/walk/held.go", "\t\t\th.renew(ctx, e)\n", "\t\t\t_ = e\n"},
			{
				"ops/internal/walk/held.go",
				"\t\t\tone.handle, one.ends = d.Handle, d.LeaseEnds\n\t\t\tcontinue\n",
				"\t\t\tone.handle, one.ends = d.Handle, d.LeaseEnds\n",
			},
		}},
		{"requeue-what-dies-again", []patch{{
			"ops/requeue_run.go",
			"\treturn died.After(r.began) || d.Origin != nil && r.moved.has(d.Origin.Earlier)\n",
			"\treturn died.After(r.began.Add(time.Hour))\n",
		}}},
		{"idempotent-by-the-error-alone", []patch{{
			"idempotency.go",
			"end(d.IsDone(err))",
			"end(err == nil)",
		}}},
		{"breaker-without-settlements-by-method", []patch{{
			"internal/engine/worker.go",
			"\t\tif r.f.breaker != nil {\n",
			"\t\tif chosen != nil {\n\t\t\tr.blamed(nil)\n\t\t} else if r.f.breaker != nil {\n",
		}}},
		{"forget-what-a-hanging-handler-chose", []patch{{
			"internal/engine/worker.go",
			"\tif choice == nil {\n",
			"\tif choice == nil || !f.stopping() && it.lane == 0 || f.stopping() {\n",
		}}},
		{"two-handlers-with-one-delivery", []patch{{
			"internal/engine/item.go",
			"\t\tit.gen++\n\t\tit.Owner = it.in.cfg.Again(it)\n",
			"\t\t_ = it\n",
		}}},
		{"take-with-a-replaced-worker", []patch{{
			"internal/engine/worker.go",
			" || w.replaced.Load() {\n\t\treturn\n",
			" {\n\t\treturn\n",
		}}},
		{"release-while-polls-are-open", []patch{{
			"internal/engine/gate.go",
			"\tif g.keeps = g.polls > 0; g.keeps {\n",
			"\tif g.keeps = false; g.keeps {\n",
		}}},
		{"recall-a-canceled-poll-once", []patch{{
			"snssqs/poller.go",
			"\tout, err := p.receive(p.life, in)\n\tif stop() {",
			"\tout, err := p.receive(ctx, in)\n\tif ctx.Err() != nil {\n\t\tstop()\n\t\trc.ask()\n" +
				"\t\treturn &sqs.ReceiveMessageOutput{Messages: rc.messages}, nil\n\t}\n\tif stop() {",
		}}},
		{"leave-what-stands-behind-a-handler", []patch{{
			"internal/engine/session.go",
			"\t\t\t\tf.undoBehind(it)\n\t\t\t\tf.carryOut(it, Verdict{Action: ActionRelease})\n",
			"\t\t\t\t_ = it\n",
		}}},
	}
}

// kafkaMutants are mutants that worlds with operators find on Kafka.
func kafkaMutants() []mutant {
	return []mutant{
		{"requeue-behind-a-refused-message", []patch{{
			"ops/requeue_run.go",
			"\t\tif ps[i].lane != \"\" {\n",
			"\t\tif ps[i].lane != \"\" && err == nil {\n",
		}}},
		{"requeue-without-its-journal", []patch{{
			"ops/requeue_run.go",
			"again: r.journal.known(ds[i].ID) == journalSending}",
			"again: false}",
		}}},
		{"close-without-its-context", []patch{{
			"outbox.go",
			"\t\to.unanswered(o.pending.Close(ctx))\n",
			"\t\to.unanswered(o.pending.Close(context.WithoutCancel(ctx)))\n",
		}}},
		{"publish-lost-results", []patch{{
			"kafka/internal/records/results.go",
			"{ return r.epoch.state == epochGone }\n",
			"{ return false }\n",
		}}},
		{"count-ends-of-transactions", []patch{
			{
				"kafka/internal/operate/inspect.go",
				"\tcase read.Err == nil && next > p.from:\n",
				"\tcase read.Err == nil && next > p.from && false:\n",
			},
			{
				"kafka/internal/operate/inspect.go",
				"\t\tif ch.DeadLetter && p.mixed {\n",
				"\t\tif ch.DeadLetter && p.mixed && false {\n",
			},
		}},
	}
}
