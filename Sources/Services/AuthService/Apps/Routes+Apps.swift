import MartletHTTP

extension AuthService {
    /// Apps, their versions and their keys, for staff.
    func addAppRoutes(to routes: inout RouteTable) {
        routes.section = .apps
        routes.on(ListApps.route, ListApps(apps: apps))
        routes.on(CreateApp.route, CreateApp(apps: apps))
        routes.on(ReadApp.route, ReadApp(apps: apps))
        routes.on(ChangeApp.route, ChangeApp(apps: apps))
        routes.on(ArchiveApp.route, ArchiveApp(apps: apps, archives: true))
        routes.on(ArchiveApp.restoreApp, ArchiveApp(apps: apps, archives: false))
        routes.on(LookUpApp.route, LookUpApp(apps: apps, lookup: storeLookup))
        routes.on(ReadIcon.route, ReadIcon(pictures: pictures))
        routes.on(SetIcon.route, SetIcon(pictures: pictures))
        routes.on(DeleteIcon.route, DeleteIcon(pictures: pictures))

        routes.on(ListVersions.route, ListVersions(versions: versions, apps: apps))
        routes.on(CreateVersion.route, CreateVersion(versions: versions))
        routes.on(ReadVersion.route, ReadVersion(versions: versions))
        routes.on(ChangeVersion.route, ChangeVersion(versions: versions))
        routes.on(DeleteVersion.route, DeleteVersion(versions: versions))
        routes.on(AddPicture.route, AddPicture(pictures: pictures))
        routes.on(OrderPictures.route, OrderPictures(pictures: pictures))
        routes.on(ReadPicture.route, ReadPicture(pictures: pictures))
        routes.on(DeletePicture.route, DeletePicture(pictures: pictures))

        routes.on(ListKeys.route, ListKeys(credentials: credentials, apps: apps))
        routes.on(CreateKey.route, CreateKey(credentials: credentials, now: now))
        routes.on(ChangeKey.route, ChangeKey(credentials: credentials, now: now))
        routes.on(RevokeKey.route, RevokeKey(credentials: credentials))
        routes.on(RotateKey.route, RotateKey(credentials: credentials))
    }
}
