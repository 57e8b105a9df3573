// A walk through queues and topics with the AWS SDK for JavaScript v3, which checks the digests of what it receives.
import * as q from '@aws-sdk/client-sqs'
import * as n from '@aws-sdk/client-sns'
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const sqs = new q.SQSClient()
const sns = new n.SNSClient()
let checks = 0

function same(what, got, want) {
  checks++
  assert.deepEqual(got, want, `${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`)
}

// refused: the promise fails with the class that the SDK's model names, or with a name where it has no class.
async function refused(what, kind, promise) {
  checks++
  try {
    await promise
  } catch (e) {
    const right = typeof kind === 'string' ? e.name === kind : e instanceof kind
    assert.ok(right, `${what}: got ${e.name} (${e.constructor.name}): ${e.message}`)
    return e
  }
  assert.fail(`${what}: no error`)
}

const create = async (QueueName, Attributes, tags) => (await sqs.send(new q.CreateQueueCommand({ QueueName, Attributes, tags }))).QueueUrl
const send = (QueueUrl, MessageBody, more) => sqs.send(new q.SendMessageCommand({ QueueUrl, MessageBody, ...more }))
const attributes = async (QueueUrl, ...AttributeNames) => (await sqs.send(new q.GetQueueAttributesCommand({ QueueUrl, AttributeNames }))).Attributes
const arn = async url => (await attributes(url, 'QueueArn')).QueueArn
const remove = (QueueUrl, m) => sqs.send(new q.DeleteMessageCommand({ QueueUrl, ReceiptHandle: m.ReceiptHandle }))
const bodies = messages => messages.map(m => m.Body)

async function take(QueueUrl, more) {
  const out = await sqs.send(new q.ReceiveMessageCommand({
    QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 5, MessageSystemAttributeNames: ['All'], MessageAttributeNames: ['All'], ...more }))
  return out.Messages ?? []
}

async function queues() {
  const url = await create('js-plain', { VisibilityTimeout: '41' }, { team: 'a' })
  same('GetQueueUrl', (await sqs.send(new q.GetQueueUrlCommand({ QueueName: 'js-plain' }))).QueueUrl, url)
  await refused('created again with others', q.QueueNameExists, create('js-plain', { VisibilityTimeout: '7' }))
  await refused('an attribute that is none', q.InvalidAttributeName, create('js-other', { Nope: '7' }))
  await refused('a queue that is not there', q.QueueDoesNotExist, send(url + 'x', 'x'))
  await sqs.send(new q.SetQueueAttributesCommand({ QueueUrl: url, Attributes: { MaximumMessageSize: '2048' } }))
  same('attributes', await attributes(url, 'VisibilityTimeout', 'MaximumMessageSize'), { VisibilityTimeout: '41', MaximumMessageSize: '2048' })
  same('tags', (await sqs.send(new q.ListQueueTagsCommand({ QueueUrl: url }))).Tags, { team: 'a' })
  const pages = []
  for (const i of [1, 2, 3]) await create(`js-page-${i}`)
  for await (const page of q.paginateListQueues({ client: sqs, pageSize: 2 }, { QueueNamePrefix: 'js-page-' })) pages.push(page.QueueUrls.length)
  same('pages', pages, [2, 1])
  const long = await refused('too long', 'InvalidParameterValue', send(url, 'x'.repeat(2049)))
  same('its text', long.message, 'One or more parameters are invalid. Reason: Message must be shorter than 2048 bytes.')
}

async function messages() {
  const url = await create('js-messages')
  const MessageAttributes = {
    text: { DataType: 'String', StringValue: 'ä' },
    number: { DataType: 'Number.int', StringValue: '7' },
    bytes: { DataType: 'Binary', BinaryValue: Uint8Array.from({ length: 256 }, (_, i) => i) },
  }
  const body = 'grün <&>"\r\n☃ 😀'
  const sent = await send(url, body, { MessageAttributes })
  const [m] = await take(url)
  same('body', [m.Body, m.MessageId, m.MD5OfMessageAttributes], [body, sent.MessageId, sent.MD5OfMessageAttributes])
  same('attributes', Object.entries(m.MessageAttributes).map(([k, v]) => [k, v.DataType, v.StringValue ?? [...v.BinaryValue].length]).sort(),
    [['bytes', 'Binary', 256], ['number', 'Number.int', '7'], ['text', 'String', 'ä']])
  await sqs.send(new q.ChangeMessageVisibilityCommand({ QueueUrl: url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 0 }))
  const [again] = await take(url)
  same('count', again.Attributes.ApproximateReceiveCount, '2')
  await remove(url, again)
  await refused('a handle that is none', q.ReceiptHandleIsInvalid, remove(url, { ReceiptHandle: 'nonsense' }))
  await refused('control characters', q.InvalidMessageContents, send(url, '\x01'))
  // A poll that is broken off takes nothing with it.
  const stop = new AbortController()
  const broken = refused('a broken poll', 'AbortError', sqs.send(new q.ReceiveMessageCommand({ QueueUrl: url, WaitTimeSeconds: 10 }), { abortSignal: stop.signal }))
  setTimeout(() => stop.abort(), 300)
  await broken
  await new Promise(done => setTimeout(done, 300))
  await send(url, 'x')
  same('nothing went with it', (await take(url)).map(m => m.Attributes.ApproximateReceiveCount), ['1'])
}

async function batches() {
  const url = await create('js-batch')
  const sent = await sqs.send(new q.SendMessageBatchCommand({ QueueUrl: url, Entries: [
    { Id: 'a', MessageBody: '1' }, { Id: 'late', MessageBody: '2', DelaySeconds: 901 }, { Id: 'c', MessageBody: '3' }] }))
  same('sent', [sent.Successful.map(e => e.Id), sent.Failed.map(e => [e.Id, e.Code, e.SenderFault])], [['a', 'c'], [['late', 'InvalidParameterValue', true]]])
  const handles = [(await take(url))[0].ReceiptHandle, 'nonsense']
  const out = await sqs.send(new q.DeleteMessageBatchCommand({ QueueUrl: url, Entries: handles.map((ReceiptHandle, i) => ({ Id: `${i}`, ReceiptHandle })) }))
  same('removed', [out.Successful.map(e => e.Id), out.Failed.map(e => [e.Id, e.Code])], [['0'], [['1', 'ReceiptHandleIsInvalid']]])
  await refused('two of one id', q.BatchEntryIdsNotDistinct, sqs.send(new q.SendMessageBatchCommand({ QueueUrl: url, Entries: [{ Id: 'a', MessageBody: '1' }, { Id: 'a', MessageBody: '1' }] })))
  await refused('an empty batch', q.EmptyBatchRequest, sqs.send(new q.SendMessageBatchCommand({ QueueUrl: url, Entries: [] })))
}

async function fifo() {
  const url = await create('js.fifo', { FifoQueue: 'true', ContentBasedDeduplication: 'true' })
  const sent = []
  for (const [body, MessageGroupId] of [['1', 'a'], ['2', 'a'], ['3', 'b'], ['1', 'a']]) sent.push(await send(url, body, { MessageGroupId }))
  same('a duplicate', [sent[3].MessageId, sent[3].SequenceNumber], [sent[0].MessageId, sent[0].SequenceNumber])
  const [head] = await take(url, { MaxNumberOfMessages: 1 })
  same('the head', [head.Body, head.Attributes.MessageGroupId], ['1', 'a'])
  same('its group is locked', bodies(await take(url)), ['3'])
  await remove(url, head)
  same('and free again', bodies(await take(url)), ['2'])
}

async function deadLetters() {
  const dlq = await create('js-dead')
  const url = await create('js-mortal', { VisibilityTimeout: '0', RedrivePolicy: JSON.stringify({ deadLetterTargetArn: await arn(dlq), maxReceiveCount: 1 }) })
  same('sources', (await sqs.send(new q.ListDeadLetterSourceQueuesCommand({ QueueUrl: dlq }))).queueUrls, [url])
  await send(url, 'x')
  same('once', bodies(await take(url)), ['x'])
  same('not again', await take(url, { WaitTimeSeconds: 0 }), [])
  const [dead] = await take(dlq, { VisibilityTimeout: 0 })
  same('a dead letter', dead.Attributes.DeadLetterQueueSourceArn, await arn(url))
  await sqs.send(new q.StartMessageMoveTaskCommand({ SourceArn: await arn(dlq) }))
  same('moved back', bodies(await take(url)), ['x'])
  const { Results: [task] } = await sqs.send(new q.ListMessageMoveTasksCommand({ SourceArn: await arn(dlq) }))
  same('the task', [task.Status, task.ApproximateNumberOfMessagesMoved], ['COMPLETED', 1])
  await refused('a source that is not there', q.ResourceNotFoundException, sqs.send(new q.StartMessageMoveTaskCommand({ SourceArn: await arn(dlq) + 'x' })))
}

async function topics() {
  const { TopicArn } = await sns.send(new n.CreateTopicCommand({ Name: 'js-news' }))
  const raw = await create('js-raw'), letters = await create('js-letters')
  const Policy = async url => JSON.stringify({ Statement: [{ Effect: 'Allow', Principal: { Service: 'sns.amazonaws.com' }, Action: 'sqs:SendMessage',
    Resource: await arn(url), Condition: { ArnEquals: { 'aws:SourceArn': TopicArn } } }] })
  for (const url of [raw, letters]) await sqs.send(new q.SetQueueAttributesCommand({ QueueUrl: url, Attributes: { Policy: await Policy(url) } }))
  const subscribe = async (url, Attributes) => (await sns.send(new n.SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint: await arn(url), Attributes, ReturnSubscriptionArn: true }))).SubscriptionArn
  const filtered = await subscribe(raw, { RawMessageDelivery: 'true', FilterPolicy: '{"price":[{"numeric":["<",10]}]}' })
  await subscribe(letters)
  const publish = (Message, price) => sns.send(new n.PublishCommand({ TopicArn, Message, MessageAttributes: { price: { DataType: 'Number', StringValue: price } } }))
  const ids = [(await publish('cheap', '9.99')).MessageId, (await publish('dear', '10')).MessageId]
  same('filtered and raw', (await take(raw)).map(m => [m.Body, m.MessageAttributes.price.StringValue]), [['cheap', '9.99']])
  same('all, in envelopes', bodies(await take(letters)).map(b => JSON.parse(b)).map(l => [l.Message, l.MessageId, l.TopicArn, l.Type]).sort(),
    [['cheap', ids[0], TopicArn, 'Notification'], ['dear', ids[1], TopicArn, 'Notification']])
  const batch = await sns.send(new n.PublishBatchCommand({ TopicArn, PublishBatchRequestEntries: [{ Id: 'a', Message: '1' }, { Id: 'b', Message: '2' }] }))
  same('batch', batch.Successful.map(e => e.Id), ['a', 'b'])
  same('arrived', bodies(await take(letters)).map(b => JSON.parse(b).Message).sort(), ['1', '2'])
  await refused('a filter that is none', n.InvalidParameterException, sns.send(new n.SetSubscriptionAttributesCommand({ SubscriptionArn: filtered, AttributeName: 'FilterPolicy', AttributeValue: '{"a":1}' })))
  await refused('a topic that is not there', n.NotFoundException, sns.send(new n.PublishCommand({ TopicArn: TopicArn + 'x', Message: 'x' })))
  await sns.send(new n.DeleteTopicCommand({ TopicArn }))
}

for (const part of [queues, messages, batches, fifo, deadLetters, topics]) await part()
const { version } = createRequire(import.meta.url)('@aws-sdk/client-sqs/package.json')
console.log(`@aws-sdk ${version}: ${checks} checks passed`)
