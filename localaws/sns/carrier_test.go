package sns_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/sns"
)

// Services of two regions share a carrier: its bounds, and what it keeps. What one of them forgets, the other keeps.
func TestACarrierOfTwoRegions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		defer c.Close()
		net := &silent{byHost: map[string]int{}, mostOf: map[string]int{}, got: map[string]int{}}
		carrier := sns.NewCarrier(sns.CarrierOptions{Clock: c, HTTP: net, Logger: slog.New(slog.DiscardHandler)})
		defer carrier.Close()
		region := func(name string) *sns.Service {
			return sns.New(sns.Options{
				Account: account, Region: name, Clock: c, Random: random.New(1), Carrier: carrier,
				Queues: &queues{messages: map[string][]sns.QueueMessage{}},
			})
		}
		services := map[string]*sns.Service{"one": region("us-east-1"), "two": region("eu-west-1")}
		for name, s := range services {
			seed := sns.Seed{Name: "t", Subscriptions: []sns.SeedSubscription{
				{Endpoint: "+15551234567", Protocol: "sms"}, {Queue: "closed"},
			}}
			for range 10 {
				seed.Subscriptions = append(seed.Subscriptions, sns.SeedSubscription{
					Endpoint: "http://silent/" + name + "/" + string(rune('a'+len(seed.Subscriptions))),
				})
			}
			if err := s.Plant(t.Context(), seed, ""); err != nil {
				t.Fatal(err)
			}
			topic := s.Topics()[0].ARN
			policy := `{"Statement":[{"Effect":"Allow","Principal":"*","Action":"sns:Publish","Resource":"*"}]}`
			if err := s.AdmitByDefault(topic, policy); err != nil {
				t.Fatal(err)
			}
			m := sns.Incoming{Service: "s3.amazonaws.com", Subject: "s", Message: name}
			if err := s.Deliver(topic, m); err != nil {
				t.Fatal(err)
			}
		}
		for name, s := range services {
			if len(s.Unsent()) != 1 || len(s.Failures()) != 1 || s.Unsent()[0].Body != name {
				t.Errorf("%s: unsent %v, failures %v", name, s.Unsent(), s.Failures())
			}
		}
		services["one"].Reset()
		if len(services["one"].Unsent()) != 0 || len(services["one"].Failures()) != 0 {
			t.Error("Reset has kept something")
		}
		if len(services["two"].Unsent()) != 1 || len(services["two"].Failures()) != 1 || len(carrier.Failures()) != 1 {
			t.Error("Reset of one service has changed another")
		}
		synctest.Wait()
		net.mu.Lock()
		if net.most > sns.AttemptsAtOnce || net.running == 0 {
			t.Errorf("%d attempts run, %d at most", net.running, net.most)
		}
		net.mu.Unlock()
		time.Sleep(time.Hour) // the confirmations of the other service end by themselves
		synctest.Wait()
		net.mu.Lock()
		defer net.mu.Unlock()
		if net.running != 0 {
			t.Errorf("%d attempts still run", net.running)
		}
	})
}
