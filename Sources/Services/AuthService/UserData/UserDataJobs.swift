import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres

/// Deletes accounts, and gathers what users want handed out, across all services.
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
        // What has to be done before the account is gone, in this order; a further step goes here, with a name for the
        // receipt. Each is repeated until it succeeds. The account itself goes last, with the end of the job.
        // Notifications is first, so that nobody gets push for the account while another service is away.
        let steps = others.filter { $0.name == "notifications" } + others.filter { $0.name != "notifications" }
        handlers = [
            EraseUser(steps: steps, deletions: deletions), EraseUserAgain(steps: others, deletions: deletions),
            ExportUser(
                parts: [UserDataPart(name: AuthService.name, holder: account)] + others, exports: exports,
                limitInBytes: exportLimitInBytes),
        ]
    }
}

/// A holder of users' data, under the name that receipts and progress have for it.
struct UserDataPart: Sendable {
    var name: String
    var holder: any UserDataHolder
}

/// Whose data a job is about.
struct UserDataSubject: Codable, Sendable {
    var app: String
    var environment: AppEnvironment
    var user: UUID

    init(_ user: UUID, in space: UserSpace) {
        (app, environment, self.user) = (space.appID, space.environment, user)
    }

    func request(after place: String?) -> UserDataRequest {
        UserDataRequest(app: app, environment: environment, user: user.uuidString.lowercased(), after: place)
    }
}
