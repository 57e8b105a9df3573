// bbc's sqs-producer and sqs-consumer: what one sends, the other handles; what its handler fails at comes again, and
// then lies in the dead-letter queue.
import { Consumer } from 'sqs-consumer'
import { Producer } from 'sqs-producer'
import * as q from '@aws-sdk/client-sqs'
import assert from 'node:assert/strict'

const sqs = new q.SQSClient()
const create = async (QueueName, Attributes) => (await sqs.send(new q.CreateQueueCommand({ QueueName, Attributes }))).QueueUrl
const attribute = async (QueueUrl, name) => (await sqs.send(new q.GetQueueAttributesCommand({ QueueUrl, AttributeNames: [name] }))).Attributes[name]
let checks = 0
const same = (what, got, want) => { checks++; assert.deepEqual(got, want, `${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`) }

const dead = await create('bbc-dead')
const queueUrl = await create('bbc-work', { VisibilityTimeout: '1', RedrivePolicy: JSON.stringify({ deadLetterTargetArn: await attribute(dead, 'QueueArn'), maxReceiveCount: 2 }) })

const producer = Producer.create({ queueUrl, sqs })
const sent = await producer.send([...Array(25).keys()].map(i => ({ id: `id${i}`, body: `work ${i}`, messageAttributes: { n: { DataType: 'Number', StringValue: `${i}` } } })))
same('accepted', sent.length, 25)
same('in the queue', await producer.queueSize(), 25)

const handled = new Set(), failures = [], events = new Set()
let tries = 0
const consumer = Consumer.create({
  queueUrl, sqs, batchSize: 10, waitTimeSeconds: 2, visibilityTimeout: 2, heartbeatInterval: 1, terminateVisibilityTimeout: true,
  attributeNames: ['ApproximateReceiveCount'], messageAttributeNames: ['n'],
  handleMessage: async message => {
    same('body and attribute agree', message.Body, `work ${message.MessageAttributes.n.StringValue}`)
    if (message.Body === 'work 13') {
      same('its count', message.Attributes.ApproximateReceiveCount, `${++tries}`)
      throw new Error('unlucky')
    }
    if (message.Body === 'work 7') await new Promise(done => setTimeout(done, 2500)) // longer than its visibility: the heartbeat holds it
    same('handled once', handled.has(message.Body), false)
    handled.add(message.Body)
    return message
  },
})
consumer.on('processing_error', e => failures.push(e.message))
for (const name of ['started', 'response_processed', 'message_processed', 'stopped']) consumer.on(name, () => events.add(name))
const wrong = new Promise((_, fail) => consumer.on('error', fail))
const empty = new Promise(done => consumer.on('empty', () => handled.size === 24 && tries === 2 && done()))
consumer.start()
await Promise.race([empty, wrong])
const stopped = new Promise(done => consumer.on('stopped', done))
consumer.stop({ abort: true })
await stopped

same('handled', handled.size, 24)
same('failed', failures.length, 2)
same('nothing is left', [await producer.queueSize(), await attribute(queueUrl, 'ApproximateNumberOfMessagesNotVisible')], [0, '0'])
const { Messages: [letter] } = await sqs.send(new q.ReceiveMessageCommand({ QueueUrl: dead, WaitTimeSeconds: 5 }))
same('dead letter', letter.Body, 'work 13')
same('events', [...events].sort(), ['message_processed', 'response_processed', 'started', 'stopped'])

const outcome = await producer.send([{ id: 'good', body: 'x' }, { id: 'bad', body: '\x01' }]).catch(e => e)
same('a partial failure', [outcome.constructor.name, outcome.message], ['FailedMessagesError', 'Failed to send messages: bad'])
console.log(`sqs-consumer and sqs-producer: ${checks} checks passed`)
