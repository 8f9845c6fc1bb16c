import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres

/// Deletes accounts and exports users' data across all services.
struct UserDataJobs: Sendable {
    let account: AccountData
    let deletions: DeletionStore
    let exports: ExportStore
    let handlers: [any JobHandler]

    init(
        postgres: PostgresClient, jobs: JobQueue, revocation: TokenRevocation, services: [ServiceAddress],
        internalSecret: Secret,
        exportLimitInBytes: Int
    ) {
        account = AccountData(postgres: postgres)
        deletions = DeletionStore(postgres: postgres, jobs: jobs, revocation: revocation)
        exports = ExportStore(postgres: postgres, jobs: jobs)
        let calls = ServiceCalls(caller: AuthService.name, internalSecret: internalSecret)
        let others = services.map { UserDataPart(name: $0.name, holder: RemoteUserData(service: $0, calls: calls)) }
        // The steps before the account is deleted, in this order. Add further steps here, with a name for the receipt.
        // Each is repeated until it succeeds; the account itself is deleted last, when the job finishes. Notifications
        // comes first, so that no push is sent for the account while another service is unavailable.
        let steps = others.filter { $0.name == "notifications" } + others.filter { $0.name != "notifications" }
        handlers = [
            EraseUser(steps: steps, deletions: deletions), EraseUserAgain(steps: others, deletions: deletions),
            ExportUser(
                parts: [UserDataPart(name: AuthService.name, holder: account)] + others, exports: exports,
                limitInBytes: exportLimitInBytes),
        ]
    }
}

/// A holder of user data, with its name in receipts and progress reports.
struct UserDataPart: Sendable {
    var name: String
    var holder: any UserDataHolder
}

/// The user whose data a job concerns.
struct UserDataSubject: Codable, Sendable {
    var app: String
    var environment: AppEnvironment
    var user: UUID

    init(_ user: UUID, in space: AppSpace) {
        (app, environment, self.user) = (space.appID, space.environment, user)
    }

    func request(after position: String?) -> UserDataRequest {
        UserDataRequest(app: app, environment: environment, user: user.uuidString.lowercased(), after: position)
    }
}
