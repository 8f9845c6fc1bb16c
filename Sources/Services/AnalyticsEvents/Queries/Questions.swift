package import Foundation
package import Logging
import MartletCore
package import MartletPostgres
package import ServiceLifecycle

/// Roll-ups, blocks of events, and the questions answered from them.
package struct Questions: Sendable {
    let spaces: Spaces
    let postgres: PostgresClient
    let store: QuestionStore
    let requests: RequestCountStore
    let rollUp: RollUp
    let blocks: BlockBuilder
    let now: @Sendable () -> Date

    package init(
        postgres: PostgresClient, spaces: Spaces, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        self.now = now
        self.spaces = spaces
        self.postgres = postgres
        store = QuestionStore(postgres: postgres, logger: logger)
        requests = RequestCountStore(postgres: postgres)
        rollUp = RollUp(store: RollUpStore(postgres: postgres), requests: requests, logger: logger)
        blocks = BlockBuilder(store: BlockStore(postgres: postgres), logger: logger)
    }

    package var background: [any Service] { [rollUp, blocks] }
}
