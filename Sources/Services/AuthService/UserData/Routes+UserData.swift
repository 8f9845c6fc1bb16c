import MartletHTTP

extension AuthService {
    /// Deleting users, exporting their data, and looking up how to reach them.
    func addUserDataRoutes(to routes: inout RouteTable) {
        let (deletions, exports) = (userDataJobs.deletions, userDataJobs.exports)
        routes.on(ReadContacts.route, ReadContacts(users: users, apps: apps))
        routes.section = .users
        routes.on(DeleteMe.route, DeleteMe(check: passwordCheck, deletions: deletions))
        routes.on(DeleteUser.route, DeleteUser(deletions: deletions))
        routes.on(ReadProfileOfUser.route, ReadProfileOfUser(users: users))
        routes.on(ReadReceipt.route, ReadReceipt(deletions: deletions))

        routes.on(StartExport.route, StartExport(exports: exports, exportedUser: .me))
        routes.on(ReadExport.route, ReadExport(exports: exports, exportedUser: .me))
        routes.on(CancelExport.route, CancelExport(exports: exports, exportedUser: .me))
        routes.on(FetchExport.route, FetchExport(exports: exports, exportedUser: .me))
        routes.on(StartExport.startUserExport, StartExport(exports: exports, exportedUser: .named))
        routes.on(ReadExport.readUserExport, ReadExport(exports: exports, exportedUser: .named))
        routes.on(CancelExport.cancelUserExport, CancelExport(exports: exports, exportedUser: .named))
        routes.on(FetchExport.fetchUserExport, FetchExport(exports: exports, exportedUser: .named))
    }
}
