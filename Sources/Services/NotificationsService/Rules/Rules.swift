import Foundation
import Logging
import MartletBackground
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// Rules that send messages automatically on changes of objects, on schedules and on crash alerts.
struct Rules: Sendable {
    let postgres: PostgresClient
    let spaces: Spaces
    let store: RuleStore
    let webhooks: RuleWebhooks
    let storage: StorageClient
    let actionBuilder: RuleActionBuilder
    let performer: RuleActionPerformer
    let clock: RuleClock
    let now: @Sendable () -> Date
    private let followers: RuleFollowers
    private let logger: Logger

    init(
        postgres: PostgresClient, spaces: Spaces, messages: Messages, mail: Mail, options: NotificationsOptions,
        logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        self.postgres = postgres
        self.spaces = spaces
        self.logger = logger
        self.now = now
        let secret = options.internalSecret
        let rules = options.rules
        let store = RuleStore(postgres: postgres, secrets: WebhookSecrets(internalSecret: secret), now: now)
        let storage = StorageClient(
            rules, calls: ServiceCalls(caller: NotificationsService.name, internalSecret: secret))
        let actionBuilder = RuleActionBuilder(templates: messages.templates, mail: mail, now: now)
        let performer = RuleActionPerformer(
            messages: messages.store, orders: mail.orders,
            queue: JobQueue(postgres: postgres, schema: NotificationsService.name))
        self.store = store
        self.storage = storage
        self.actionBuilder = actionBuilder
        self.performer = performer
        webhooks = RuleWebhooks(
            postgres: postgres, store: store,
            sender: WebhookSender(arePrivateAddressesAllowed: options.rules.arePrivateAddressesAllowed))
        let (feeds, changeSignal, stuck) = (
            RuleFeeds(postgres: postgres, spaces: spaces, instance: UUID()), RuleChangeSignal(), StuckRules()
        )
        clock = RuleClock(
            postgres: postgres, spaces: spaces, storage: storage, actionBuilder: actionBuilder, performer: performer,
            changeSignal: changeSignal, logger: logger,
            now: now)
        followers = RuleFollowers(feeds: feeds, postgres: postgres, changeSignal: changeSignal, logger: logger) {
            space in
            // Waiting for changes occupies a connection, so each follower has its own client.
            let own = StorageClient(
                rules, calls: ServiceCalls(caller: NotificationsService.name, internalSecret: secret))
            return RuleFollower(
                space: space, store: store, feeds: feeds, storage: own, actionBuilder: actionBuilder,
                performer: performer, changeSignal: changeSignal, stuck: stuck,
                logger: logger)
        }
    }

    var background: [any Service] {
        [followers, clock, RuleHousekeeping(webhooks: webhooks, limits: performer.limits, logger: logger)]
    }

    var handlers: [any JobHandler] { [DeliverWebhook(webhooks: webhooks)] }
}

/// Deletes old webhook deliveries and the counters of limits.
struct RuleHousekeeping: PeriodicWork {
    let interval: Duration = .seconds(3_600)
    let webhooks: RuleWebhooks
    let limits: RuleLimits
    let logger: Logger

    func work() async throws {
        try await webhooks.prune()
        try await limits.prune(webhooks.postgres)
    }
}
