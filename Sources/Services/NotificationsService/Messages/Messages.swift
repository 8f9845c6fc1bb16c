import Foundation
import Logging
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// Messages, templates and segments, and the planning of deliveries.
struct Messages: Sendable {
    let spaces: Spaces
    let store: MessageStore
    let templates: TemplateStore
    let segments: SegmentStore
    let counter: AudienceCounter
    let reach: PushReach
    let clientRules: ClientRuleStore
    /// Sends messages between users.
    let clients: ClientSends
    let userData: MessageUserData
    let housekeeping: MessageHousekeeping

    init(
        postgres: PostgresClient, spaces: Spaces, storage: StorageClient, settings: MessageSettings, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.spaces = spaces
        store = MessageStore(
            postgres: postgres, queue: JobQueue(postgres: postgres, schema: NotificationsService.name), now: now)
        templates = TemplateStore(postgres: postgres)
        segments = SegmentStore(postgres: postgres)
        counter = AudienceCounter(postgres: postgres, now: now)
        reach = PushReach(postgres: postgres, counter: counter, segments: segments)
        clientRules = ClientRuleStore(postgres: postgres)
        clients = ClientSends(
            postgres: postgres, messages: store, templates: templates, rules: clientRules, storage: storage)
        userData = MessageUserData(postgres: postgres, spaces: spaces)
        housekeeping = MessageHousekeeping(postgres: postgres, days: settings.retentionInDays, logger: logger)
    }

    var background: [any Service] { [housekeeping] }
    var handlers: [any JobHandler] { [PlanMessage(messages: store), ResumeMessage(messages: store)] }
}
