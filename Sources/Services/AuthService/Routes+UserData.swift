import Hummingbird
import MartletHTTP

extension AuthService {
    /// Deleting accounts, telling how users are reached, and handing out what is held of a user.
    func addUserDataRoutes(to router: Router<ServiceContext>) {
        let (deletions, exports) = (userDataJobs.deletions, userDataJobs.exports)
        router.on(.post, "internal/users/contacts", ReadContacts(users: users, apps: apps))
        router.on(.delete, "auth/me", DeleteMe(check: passwordCheck, deletions: deletions))
        router.on(.delete, "auth/users/:id", DeleteUser(deletions: deletions))
        router.on(.post, "internal/users/profile", ReadProfileOfUser(users: users))
        router.on(.get, "auth/receipts/:id", ReadReceipt(deletions: deletions))

        router.on(.post, "auth/me/export", StartExport(exports: exports, whose: .me))
        router.on(.get, "auth/me/export", ReadExport(exports: exports, whose: .me))
        router.on(.delete, "auth/me/export", CancelExport(exports: exports, whose: .me))
        router.on(.get, "auth/me/export/content", FetchExport(exports: exports, whose: .me))
        router.on(.post, "auth/users/:id/export", StartExport(exports: exports, whose: .named))
        router.on(.get, "auth/users/:id/export", ReadExport(exports: exports, whose: .named))
        router.on(.delete, "auth/users/:id/export", CancelExport(exports: exports, whose: .named))
        router.on(.get, "auth/users/:id/export/content", FetchExport(exports: exports, whose: .named))
    }
}
