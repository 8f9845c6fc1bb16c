import NotificationsService
import MartletHTTP

@main
enum Main {
    static func main() async {
        await ServiceProcess.run(NotificationsService.self)
    }
}
