// Package localaws is an AWS on your machine.
//
// Its nouns: a [Server] holds the resources of all accounts and regions. A [Place] is an account in a region, with
// services of its own. The services are models behind the wire protocols. A control is a function that observes, fails,
// delays or drops calls. The clock is the server's own and can be advanced. A store (Options.Store, package
// localaws/disk) keeps what the server acknowledges for a later server; without one, everything is in memory.
//
//	server, err := localaws.New(nil)
//	defer server.Close()
//	client := sqs.New(sqs.Options{
//		Region:       "us-east-1",
//		BaseEndpoint: aws.String("http://localaws"), // any host: no socket is opened
//		HTTPClient:   &http.Client{Transport: server.Transport()},
//		Credentials:  aws.AnonymousCredentials{},
//	})
//
// Listen opens an address for clients in other processes and languages. Any access key and secret are accepted;
// signatures are not checked. Requests that a browser sends for a page of another site, or for a page whose name means
// this machine, are refused: Options.AllowHosts and AllowOrigins say what is allowed. SNS delivers over HTTP to this
// machine and to Options.AllowEndpoints. A request has at most 16 MiB, and two with more than 4 MiB are handled at the
// same time; docs/security.md has all bounds. A server created in a testing/synctest bubble uses the bubble's virtual
// time; a process can have many servers.
//
// A request works in the region that it is signed for, and for the account that its access key is, if that has twelve
// digits. Options.Region and Options.Account are for other keys and for requests that are not signed, which work
// where the ARN or the queue URL is that they name. SQS, SNS and CloudWatch return the models of that default place,
// and In those of another. With Options.SingleRegion every request works in the region of the options. Policies decide
// about callers of other accounts; docs/compatibility.md has the rules between regions and accounts.
//
// For tests there are Control (fail, delay, drop or break any call, before or after it took effect), Advance (move the
// clock), SQS, SNS, S3 and CloudWatch (inspect without receiving, wait for a state, deliver twice or out of order),
// Calls (count requests), Options.Seed (repeat everything random) and Plant (create queues, topics, buckets and alarms
// from a file). Over HTTP there are, in addition to AWS's actions:
//
//	GET  /_localaws/health                  {"status":"ok"}
//	GET  /_localaws/queues                  every queue with its counts
//	GET  /_localaws/queues/NAME/messages    every message with typed attributes, group locks, duplicates
//	GET  /_localaws/queues/NAME/locks       more group locks than fit a page
//	GET  /_localaws/queues/NAME/duplicates  more of the deduplication table
//	GET  /_localaws/topics                  topics, subscriptions, failed deliveries
//	GET  /_localaws/failures                more failed deliveries
//	GET  /_localaws/unsent                  messages for email, sms, lambda, firehose and application
//	GET  /_localaws/metrics                 every metric; ?namespace= selects
//	GET  /_localaws/alarms                  every alarm with its state
//	GET  /_localaws/buckets                 every bucket with its counts
//	GET  /_localaws/buckets/NAME/objects    every object of a bucket; ?prefix= selects
//	POST /_localaws/advance?d=1h            moves the clock
//	POST /_localaws/reset                   empties the server; with ?seed=1 creates again what seed files describe
//	POST /_localaws/stop                    ends the process, if Options.Stop is set
//
// Every list comes in pages of 1,000 elements, or of ?limit=. The field next of a page is the parameter ?after= of the
// next one. Lists are of all accounts and regions; ?account= and ?region= select. A queue's NAME, or its ARN, is that
// of the default place if there is one, and otherwise the only one of this name.
//
// docs/localaws.md lists every action and parameter; everything else is answered by an error that names it.
package localaws
