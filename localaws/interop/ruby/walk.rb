# A walk through queues and topics with version 1 of the AWS SDK for Ruby, as Debian ships it. It speaks the query
# protocol, posts to the queue's own URL, and sends Host without its port.
require 'aws-sdk'
require 'json'
require 'uri'

# This SDK is older than the setting of Ruby's that freezes what it would change.
endpoint = URI(ENV.fetch('AWS_ENDPOINT_URL'))
AWS.config(access_key_id: 'key', secret_access_key: 'secret', region: 'us-east-1', use_ssl: false,
           sqs_endpoint: endpoint.host, sqs_port: endpoint.port, sns_endpoint: endpoint.host, sns_port: endpoint.port)

$checks = 0
def same(what, got, want)
  $checks += 1
  abort "#{what}: got #{got.inspect}, want #{want.inspect}" unless got == want
end

def refused(what, kind)
  yield
  abort "#{what}: no error, want #{kind}"
rescue AWS::Errors::Base => e
  same(what, e.class.name, kind)
  e
end

sqs = AWS::SQS.new
sns = AWS::SNS.new
client = sqs.client

# Queues.
queue = sqs.queues.create('rb-plain', visibility_timeout: 41)
same('the URL names the port', URI(queue.url).port, endpoint.port)
same('found by name', sqs.queues.named('rb-plain').url, queue.url)
same('listed', sqs.queues.with_prefix('rb-').map(&:url), [queue.url])
same('visibility timeout', queue.visibility_timeout, 41)
queue.maximum_message_size = 2048
same('maximum size', queue.maximum_message_size, 2048)
refused('created again with others', 'AWS::SQS::Errors::QueueAlreadyExists') { sqs.queues.create('rb-plain', visibility_timeout: 7) }
refused('a queue that is not there', 'AWS::SQS::Errors::NonExistentQueue') { sqs.queues.named('rb-none') }
same('too long', refused('too long', 'AWS::SQS::Errors::InvalidParameterValue') { queue.send_message('x' * 2049) }.message,
     'One or more parameters are invalid. Reason: Message must be shorter than 2048 bytes.')

# A message. The SDK checks the digest of the body itself.
body = "grün <&>\"\r\n☃"
sent = queue.send_message(body)
same('digest', sent.md5, Digest::MD5.hexdigest(body))
got = queue.receive_message(wait_time_seconds: 5, attributes: [:receive_count])
same('body', [got.body.force_encoding('UTF-8'), got.id, got.approximate_receive_count], [body, sent.id, 1])
got.visibility_timeout = 0
got = queue.receive_message(wait_time_seconds: 5, attributes: [:receive_count])
same('again', got.approximate_receive_count, 2)
same('in flight', queue.invisible_messages, 1)
got.delete
same('deleted', [queue.approximate_number_of_messages, queue.invisible_messages], [0, 0])
attributes = { 'n' => { data_type: 'Number', string_value: '7' }, 'b' => { data_type: 'Binary', binary_value: [0, 1, 2].pack('C*') } }
client.send_message(queue_url: queue.url, message_body: 'x', message_attributes: attributes)
message = client.receive_message(queue_url: queue.url, wait_time_seconds: 5, message_attribute_names: ['All'])[:messages].first
same('attributes', message[:message_attributes].transform_values { |v| v[:string_value] || v[:binary_value].bytes }, { 'n' => '7', 'b' => [0, 1, 2] })
client.delete_message(queue_url: queue.url, receipt_handle: message[:receipt_handle])
refused('a handle that is none', 'AWS::SQS::Errors::ReceiptHandleIsInvalid') { client.delete_message(queue_url: queue.url, receipt_handle: 'nonsense') }

# Batches, of which a part fails.
out = client.send_message_batch(queue_url: queue.url, entries: [
  { id: 'a', message_body: '1' }, { id: 'late', message_body: '2', delay_seconds: 901 }, { id: 'c', message_body: '3' }])
same('sent', [out[:successful].map { |e| e[:id] }, out[:failed].map { |e| [e[:id], e[:code], e[:sender_fault]] }], [%w[a c], [['late', 'InvalidParameterValue', true]]])
handle = client.receive_message(queue_url: queue.url, wait_time_seconds: 5, max_number_of_messages: 1)[:messages].first[:receipt_handle]
out = client.delete_message_batch(queue_url: queue.url, entries: [{ id: 'a', receipt_handle: handle }, { id: 'b', receipt_handle: 'nonsense' }])
same('removed', [out[:successful].map { |e| e[:id] }, out[:failed].map { |e| [e[:id], e[:code]] }], [['a'], [%w[b ReceiptHandleIsInvalid]]])
refused('two of one id', 'AWS::SQS::Errors::BatchEntryIdsNotDistinct') do
  client.send_message_batch(queue_url: queue.url, entries: [{ id: 'a', message_body: '1' }, { id: 'a', message_body: '1' }])
end

# Dead letters. (FIFO queues and move tasks came after this SDK.)
dead = sqs.queues.create('rb-dead')
mortal = sqs.queues.create('rb-mortal')
client.set_queue_attributes(queue_url: mortal.url, attributes: {
  'VisibilityTimeout' => '0', 'RedrivePolicy' => { deadLetterTargetArn: dead.arn, maxReceiveCount: 1 }.to_json })
same('sources', client.list_dead_letter_source_queues(queue_url: dead.url)[:queue_urls], [mortal.url])
mortal.send_message('x')
same('received once', mortal.receive_message(wait_time_seconds: 5).body, 'x')
same('and not again', mortal.receive_message(wait_time_seconds: 0), nil)
same('a dead letter', dead.receive_message(wait_time_seconds: 5, attributes: [:receive_count]).approximate_receive_count, 2)

# Topics. The SDK writes the queue's policy itself.
topic = sns.topics.create('rb-news')
letters = sqs.queues.create('rb-letters')
raw = sqs.queues.create('rb-raw')
closed = sqs.queues.create('rb-closed')
topic.subscribe(letters)
subscription = topic.subscribe(raw)
subscription.raw_message_delivery = true
sns.client.set_subscription_attributes(subscription_arn: subscription.arn, attribute_name: 'FilterPolicy', attribute_value: { shop: [{ prefix: 'eu-' }] }.to_json)
topic.subscribe(closed, update_policy: false)
same('subscriptions', topic.subscriptions.map { |s| s.protocol }, %i[sqs sqs sqs])
%w[eu-1 us].each do |shop|
  sns.client.publish(topic_arn: topic.arn, message: shop, subject: 's', message_attributes: { 'shop' => { data_type: 'String', string_value: shop } })
end
same('filtered and raw', raw.receive_message(wait_time_seconds: 5, limit: 10).map(&:body), ['eu-1'])
got = letters.receive_message(wait_time_seconds: 5, limit: 10).map(&:as_sns_message)
same('all, in envelopes', got.map { |m| [m.body, m.topic_arn] }.sort, [['eu-1', topic.arn], ['us', topic.arn]])
same('what a policy keeps out', closed.receive_message(wait_time_seconds: 1), nil)
refused('a filter that is none', 'AWS::SNS::Errors::InvalidParameter') do
  sns.client.set_subscription_attributes(subscription_arn: subscription.arn, attribute_name: 'FilterPolicy', attribute_value: '{"a":"b"}')
end
refused('a topic that is not there', 'AWS::SNS::Errors::NotFound') { sns.client.publish(topic_arn: topic.arn + 'x', message: 'x') }
topic.delete
same('deleted', sns.topics.map(&:arn).include?(topic.arn), false)

puts "ruby-aws-sdk #{AWS::VERSION}: #{$checks} checks passed"
