import Logging
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// What is sent, to whom and when: messages, templates, segments, and the plan of who gets what.
struct Messages: Sendable {
    let spaces: Spaces
    let store: MessageStore
    let templates: TemplateStore
    let segments: SegmentStore
    let counter: AudienceCounter
    let clientRules: ClientRuleStore
    /// What users send to each other.
    let clients: ClientSends
    let userData: MessageUserData

    init(postgres: PostgresClient, spaces: Spaces, devices: Devices, logger: Logger) {
        self.spaces = spaces
        store = MessageStore(postgres: postgres, queue: JobQueue(postgres: postgres, schema: NotificationsService.name))
        templates = TemplateStore(postgres: postgres)
        segments = SegmentStore(postgres: postgres)
        counter = AudienceCounter(postgres: postgres)
        clientRules = ClientRuleStore(postgres: postgres)
        clients = ClientSends(postgres: postgres, messages: store, templates: templates, rules: clientRules)
        userData = MessageUserData(postgres: postgres, spaces: spaces)
    }

    var background: [any Service] { [] }
    var handlers: [any JobHandler] { [PlanMessage(postgres: store.postgres)] }
}
