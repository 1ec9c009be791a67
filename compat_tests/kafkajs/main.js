// Behaviours through KafkaJS: `node main.js HOST:PORT TEST TOPIC` exits 0 or says what is wrong.
'use strict'

const assert = require('node:assert')
const { Kafka, CompressionTypes, ConfigResourceTypes, logLevel } = require('kafkajs')

const { eventually, storage } = require('./storage.js')

const [broker, test, topic] = process.argv.slice(2)
const kafka = new Kafka({
  brokers: [broker],
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 50, retries: 8 },
})
const opened = []

async function open(client) {
  await client.connect()
  opened.push(client)
  return client
}

// How many the server has.
const nodes = Number(process.env.COMPAT_NODES ?? 1)

const admin = () => open(kafka.admin())
const producer = (settings = {}) => open(kafka.producer(settings))

async function create(numPartitions = 1, configEntries = []) {
  const client = await admin()
  const topics = [{ topic, numPartitions, replicationFactor: -1, configEntries }]
  await client.createTopics({ topics, waitForLeaders: true })
  return client
}

async function read(count, { groupId = `group-${topic}-${Date.now()}`, readUncommitted = true } = {}) {
  const consumer = await open(kafka.consumer({ groupId, readUncommitted, heartbeatInterval: 200, maxWaitTimeInMs: 100 }))
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const got = []
  await new Promise((resolve, reject) => {
    // One that it recovers from by itself, like a coordinator that still loads, is no failure.
    consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error))
    const eachMessage = async ({ partition, message }) => {
      got.push({ partition, ...message })
      if (got.length === count) resolve()
    }
    consumer.run({ eachMessage, autoCommitThreshold: 1 }).catch(reject)
  })
  await consumer.stop()
  await consumer.disconnect()
  return got
}

const text = (messages) => messages.map(({ value }) => value.toString()).join(' ')

const tests = {
  async codecs() {
    await create()
    const client = await producer()
    const value = 'compress me '.repeat(100)
    for (const compression of [CompressionTypes.None, CompressionTypes.GZIP]) {
      await client.send({ topic, compression, messages: [{ value }, { value }] })
    }
    for (const message of await read(4)) assert.equal(message.value.toString(), value)
  },
  async headers() {
    await create()
    const client = await producer()
    await client.send({ topic, messages: [{ key: 'k', value: null, headers: { a: '1', b: ['2', '3'] } }] })
    const [message] = await read(1)
    assert.equal(message.key.toString(), 'k')
    assert.equal(message.value, null)
    assert.deepEqual(message.headers.b.map(String), ['2', '3'])
  },
  async acks() {
    await create()
    const client = await producer()
    for (const acks of [0, 1, -1]) await client.send({ topic, acks, messages: [{ value: 'v' }] })
    const idempotent = await producer({ idempotent: true, maxInFlightRequests: 1 })
    for (const value of ['1', '2']) await idempotent.send({ topic, messages: [{ value }] })
    assert.equal((await read(5)).length, 5)
  },
  async 'too-large'() {
    await create(1, [{ name: 'max.message.bytes', value: '5000' }])
    const client = await producer()
    const messages = [{ value: Buffer.alloc(9000) }]
    await assert.rejects(client.send({ topic, messages }), { type: 'MESSAGE_TOO_LARGE' })
    await client.send({ topic, messages: [{ value: 'small' }] })
  },
  async 'by-time'() {
    const client = await create()
    const start = Date.now() - 3600_000
    const sender = await producer()
    for (let i = 0; i < 4; i++) {
      await sender.send({ topic, messages: [{ value: 'v', timestamp: String(start + 1000 * i) }] })
    }
    const [found] = await client.fetchTopicOffsetsByTimestamp(topic, start + 1500)
    assert.equal(found.offset, '2')
    const [ends] = await client.fetchTopicOffsets(topic)
    assert.deepEqual([ends.low, ends.high], ['0', '4'])
  },
  async topics() {
    const client = await create(2)
    assert((await client.listTopics()).includes(topic))
    await client.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
    const { brokers, controller } = await client.describeCluster()
    assert.ok(brokers.length >= nodes)
    assert(brokers.some(each => each.nodeId === controller))
    await client.deleteTopics({ topics: [topic] })
    const again = { topics: [{ topic: 'bad/name' }] }
    await assert.rejects(client.createTopics(again))
  },
  async configs() {
    const client = await create()
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic }
    const configEntries = [{ name: 'retention.ms', value: '12345' }]
    await client.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] })
    const asked = { includeSynonyms: false, resources: [{ ...resource, configNames: ['retention.ms'] }] }
    for (let i = 0; i < 100; i++) {
      const { resources } = await client.describeConfigs(asked)
      if (resources[0].configEntries[0].configValue === '12345') return
    }
    assert.fail('the config did not change')
  },
  async group() {
    await create(2)
    const sender = await producer()
    await sender.send({ topic, messages: ['1', '2', '3'].map((value) => ({ value })) })
    const groupId = `group-${topic}`
    await read(3, { groupId })
    await sender.send({ topic, messages: [{ value: 'after' }] })
    assert.equal(text(await read(1, { groupId })), 'after')
    const client = await admin()
    assert((await client.listGroups()).groups.some((each) => each.groupId === groupId))
    // A goodbye is said once: where its coordinator moves meanwhile, its session has to end.
    await eventually('it is empty', async () => (await client.describeGroups([groupId])).groups[0].state === 'Empty')
    await client.deleteGroups([groupId])
  },
  async transactions() {
    await create()
    const settings = { transactionalId: `txn-${topic}`, idempotent: true, maxInFlightRequests: 1 }
    let client = await producer(settings)
    const sent = []
    const play = async (value, commits) => {
      const transaction = await client.transaction()
      await transaction.send({ topic, messages: [{ value }] })
      sent.push(value)
      await (commits ? transaction.commit() : transaction.abort())
    }
    for (const [value, commits] of [['0', true], ['1', false], ['2', true]]) {
      try {
        await play(value, commits)
      } catch (error) {
        // KafkaJS ends no transaction twice: where its coordinator has moved, somebody else does.
        if (!error.retriable) throw error
        client = await producer(settings)
        await play(value, commits)
      }
    }
    assert.equal(text(await read(2, { readUncommitted: false })), '0 2')
    assert.equal(text(await read(sent.length)), sent.join(' '))
  },
}

Object.assign(tests, storage({ topic, admin, create, producer, read, text }))

async function main() {
  assert(tests[test], `no test ${test}`)
  await tests[test]()
  for (const client of opened) await client.disconnect()
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error.stack)
    process.exit(1)
  },
)
